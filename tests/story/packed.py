"""A small pack with two forms, and two ways to talk in a session that is pinned to it."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from turnkeeper import AgentTurn, Turnkeeper
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.reply import Reply

DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"]

PACK = """\
id: desk
version: 1.0.0
title: A desk for tests
config: {}
"""

INTENTS = """\
- code: BOOK_TABLE
  name: Book a table
  examples: [I want to book a table]
  rules: [{type: CONTAINS, pattern: book, priority: 10}]
  states: [DETAILS, DONE]
- code: BUY_VOUCHER
  name: Buy a voucher
  examples: [I want to buy a voucher]
  rules: [{type: CONTAINS, pattern: voucher, priority: 10}]
  states: [DETAILS, DONE]
- code: OPENING_HOURS
  name: Opening hours
  examples: [when are you open]
  rules: [{type: CONTAINS, pattern: hours, priority: 10}]
- code: FEEDBACK
  name: Give feedback
  examples: [I have feedback]
  rules: [{type: CONTAINS, pattern: feedback, priority: 10}]
- code: RESET_SESSION
  name: Begin again
  examples: [let us begin again]
  rules: [{type: CONTAINS, pattern: begin again, priority: 10}]
- code: START_OVER
  name: Start over
  examples: [start over please]
  rules: [{type: CONTAINS, pattern: start over, priority: 10}]
"""

RESPONSES = """\
- {intent: BOOK_TABLE, state: DONE, text: "Booked for {party_size} on {day}."}
- {intent: BUY_VOUCHER, state: DONE, text: "A voucher over {amount}."}
- {intent: OPENING_HOURS, text: "We open at noon."}
- {intent: FEEDBACK, agent: true, hint: Thank them.}
"""

BOOK_TABLE = {
    "type": "object",
    "required": ["party_size", "day"],
    "properties": {
        "party_size": {"type": "integer", "title": "Number of people", "minimum": 1, "maximum": 20},
        "day": {"type": "string", "title": "Day", "enum": DAYS},
        "note": {"type": "string", "title": "Note"},
    },
}
BUY_VOUCHER = {
    "type": "object",
    "required": ["amount", "day"],
    "properties": {
        "amount": {"type": "number", "title": "Amount", "minimum": 5},
        "day": {"type": "string", "title": "Day", "enum": DAYS},
    },
}


def desk(version: str = "1.0.0", config: Any = None, **files: str) -> dict[str, str]:
    """The files of the pack; `config` is what it says, and other files may take the place of its own."""
    return {
        "pack.yaml": PACK.replace("1.0.0", version).replace("{}", json.dumps(config or {})),
        "intents/all.yaml": INTENTS,
        "responses/all.yaml": RESPONSES,
        "schemas/BOOK_TABLE.DETAILS.json": json.dumps(BOOK_TABLE),
        "schemas/BUY_VOUCHER.DETAILS.json": json.dumps(BUY_VOUCHER),
        **files,
    }


class Clerk:
    """An agent that remembers what it was shown, and fails when it is told to."""

    def __init__(self) -> None:
        self.turns: list[AgentTurn] = []

    async def __call__(self, turn: AgentTurn) -> str:
        self.turns.append(turn)
        if "fail" in turn.text:
            raise RuntimeError
        turn.state["said"] = turn.text
        return f"Agent: {turn.text}"


class Talk(Protocol):
    """One conversation with the pack, whoever keeps it."""

    clerk: Clerk

    async def say(self, text: str, **asked: Any) -> Reply: ...

    async def held(self) -> Dialogue:
        """What the session holds now."""


class KeptByTheEngine:
    def __init__(self, keeper: Turnkeeper, clerk: Clerk, pack: str | None = "desk") -> None:
        self.keeper, self.clerk, self.pack = keeper, clerk, pack
        self.session_id: str | None = None

    async def say(self, text: str, **asked: Any) -> Reply:
        where: dict[str, Any] = {"session_id": self.session_id}
        if self.session_id is None:
            self.session_id = (await self.keeper.create_session(agent="clerk", pack=self.pack)).id
            where = {"session_id": self.session_id}
        return await self.keeper.chat(text, **where, **asked)

    async def held(self) -> Dialogue:
        assert self.session_id is not None
        return (await self.keeper.session(self.session_id)).dialogue


class KeptByTheClient:
    def __init__(self, keeper: Turnkeeper, clerk: Clerk, pack: str | None = "desk") -> None:
        self.keeper, self.clerk, self.pack = keeper, clerk, pack
        self.carried: Mapping[str, Any] | None = None

    async def say(self, text: str, **asked: Any) -> Reply:
        reply = await self.keeper.chat(
            text,
            session_id="mine",
            agent="clerk",
            pack=self.pack,
            custody="client",
            carried=self.carried,
            **asked,
        )
        self.carried = reply.carried
        return reply

    async def held(self) -> Dialogue:
        from turnkeeper.custody.packing import carried_of, dialogue_of

        return dialogue_of(carried_of(self.carried)) if self.carried else Dialogue()


CUSTODIES = (KeptByTheEngine, KeptByTheClient)


def stages_of(reply: Reply) -> list[str]:
    """What was decided about the intent, in order."""
    return [stage.name for stage in reply.explanation.stages if stage.name.isupper()]


def told_by(reply: Reply, name: str) -> Mapping[str, Any]:
    return next(stage.data for stage in reply.explanation.stages if stage.name == name)
