"""A small agent that works out of the box: it repeats, counts and remembers one thing."""

from collections.abc import AsyncIterator

from turnkeeper.ports.agent import AgentTurn

REMEMBER = "remember "
WHAT = "what did i say"


async def echo(turn: AgentTurn) -> AsyncIterator[str]:
    """Says back what it heard; `remember ...` keeps a note, `what did I say?` tells it."""
    text = turn.text.strip()
    if text.lower().startswith(REMEMBER):
        turn.state["note"] = text[len(REMEMBER) :]
        yield f"I will remember: {turn.state['note']}"
    elif text.lower().startswith(WHAT):
        note = turn.state.get("note")
        yield f"You asked me to remember: {note}" if note else "You have not asked me to remember anything yet."
    else:
        yield f"You said {text!r}. This is turn {turn.number} of our conversation."
