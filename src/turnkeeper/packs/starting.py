"""The files that a new pack begins with: small, working, and explained where they stand."""

import re

from turnkeeper.packs.demos import demo_packs

_PACK = """# What the pack is. Check it with `turnkeeper packs check`, then push it with `turnkeeper packs push`.
id: "{id}"
# Three numbers. What was pushed never changes, so raise it before you push again.
version: "0.1.0"
title: "{id}"
description: Takes messages for the team, and says hello.
# PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED.
classification: INTERNAL
locales: [en]
timezone: UTC
prompts:
  system: You are friendly and brief.
config:
  # Stay with a form until it is complete, unless the user asks for something else.
  STICKY_INTENT: true
"""

_GREET = """# What a user may want. The simplest kind: a few examples, and a response.
code: GREET
name: Say hello
description: The user greets us.
examples:
  - hello
  - good morning
  - hi there
"""

_LEAVE_MESSAGE = r"""# An intent with a form: its fields are in schemas/LEAVE_MESSAGE.json.
code: LEAVE_MESSAGE
name: Leave a message
description: The user wants to leave a message for the team.
examples:
  - I want to leave a message
  - can you tell the team something
  - please pass this on
# A rule is surer than examples. Of several that match, the lowest priority wins.
rules:
  - type: REGEX
    pattern: \b(leave|take)\b.*\bmessage\b
    priority: 10
# Walked in this order. CONFIRM waits for a yes; in the last one the intent is done.
states:
  - DETAILS
  - code: CONFIRM
    confirm: true
  - DONE
"""

_SCHEMA = """{
  "type": "object",
  "properties": {
    "message": {
      "type": "string",
      "title": "Message",
      "description": "What shall I pass on?",
      "maxLength": 1000
    },
    "email": {
      "type": "string",
      "format": "email",
      "title": "E-mail address",
      "description": "To which e-mail address may the team answer?",
      "examples": ["ada@example.com"]
    }
  },
  "required": ["message", "email"]
}
"""

_RESPONSES = """# What is said, by intent and state; ANY stands for each of them, and UNKNOWN for no intent at all.
- intent: GREET
  text: Hello! I can take a message for the team.
# {question} is what has to be asked next; {email} and {message} are fields of the form.
- intent: LEAVE_MESSAGE
  state: DETAILS
  text: "{question}"
- intent: LEAVE_MESSAGE
  state: CONFIRM
  text: 'I will pass on: "{message}". The team answers to {email}. Is that right?'
- intent: LEAVE_MESSAGE
  state: DONE
  text: Thank you, the team will answer to {email}.
# Handed to the agent, with a hint instead of a text.
- intent: UNKNOWN
  agent: true
  hint: Say what you can do, which is to take a message.
"""


def starter_files(pack_id: str) -> dict[str, str]:
    return {
        "pack.yaml": _PACK.format(id=pack_id),
        "intents/greet.yaml": _GREET,
        "intents/leave_message.yaml": _LEAVE_MESSAGE,
        "schemas/LEAVE_MESSAGE.json": _SCHEMA,
        "responses/responses.yaml": _RESPONSES,
    }


def demo_files(pack_id: str, demo: str) -> dict[str, str]:
    """A demo pack under another id. Raises KeyError when there is no such demo."""
    files = demo_packs()[demo]
    manifest = re.sub(r"(?m)^id: .*$", f'id: "{pack_id}"', files["pack.yaml"], count=1)
    return {**files, "pack.yaml": manifest}
