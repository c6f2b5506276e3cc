"""A house with something on every page of the console, and the list of those pages."""

from contextlib import suppress
from dataclasses import dataclass

from tests.browser.house import House
from turnkeeper import AgentTurn, Turnkeeper
from turnkeeper.cli.demo import WEATHER_AGENT, set_up_demo
from turnkeeper.errors import AgentNotFound, RunEnded
from turnkeeper.keeping.scoping import Pin
from turnkeeper.model.mount import MountKind

GUIDE = """## Opening hours

The **Harbour Table** is open from Tuesday to Sunday.

| Day | Lunch | Dinner |
|---|---|---|
| Tuesday to Friday | 12:00 to 14:30 | 18:00 to 22:00 |
| Saturday, Sunday | 12:00 to 16:00 | 18:00 to 23:00 |

```python
is_open = day != "Monday"
```
"""


@dataclass(frozen=True, kw_only=True)
class World:
    """The sessions that are looked at, by what is to be seen in them."""

    memory: str
    form: str
    failed: str
    failed_run: str
    answered_run: str
    earlier_run: str

    @property
    def pages(self) -> dict[str, str]:
        """The address of every page, by the name of its picture."""
        return {
            "home": "/",
            "new-chat": "/chat",
            "chat": f"/sessions/{self.memory}",
            "chat-form": f"/sessions/{self.form}",
            "chat-failed": f"/sessions/{self.failed}",
            "sessions": "/sessions",
            "why": f"/sessions/{self.memory}/why/{self.answered_run}",
            "why-failed": f"/sessions/{self.failed}/why/{self.failed_run}",
            "why-compared": f"/sessions/{self.memory}/why/{self.answered_run}?with={self.earlier_run}",
            "knowledge": f"/sessions/{self.memory}/knowledge",
            "scope": f"/sessions/{self.memory}/scope",
            "history": f"/sessions/{self.memory}/history",
            "artifacts": "/artifacts",
            "approvals": "/approvals",
            "operate": "/operate",
            "operate-traffic": "/operate?view=traffic",
            "operate-usage": "/operate?view=usage",
            "operate-refusals": "/operate?view=audit",
            "operate-limits": "/operate?view=limits",
            "keys": "/keys",
            # It goes along from page to page, so it comes last.
            "tour": "/tour",
        }


async def fill(house: House) -> World:
    keeper = house.keeper
    set_up_demo(keeper)
    _register(keeper)
    await keeper.packs.push_demos()
    memory, earlier, answered = await _remember(keeper)
    booking = await keeper.chat("I would like to book a table for four", agent="symbolic", pack="table-booking")
    await keeper.chat("tomorrow at 7pm", session_id=booking.session_id)
    failed, run = await _fail(keeper)
    await keeper.chat("Call back about the invoice", agent="clerk")
    await _publish(keeper)
    await keeper.fork_session(memory, at_turn=1, title="What if the ferry left at seven?")
    paused = await keeper.chat("Where is my order HD204518?", agent="symbolic", pack="help-desk")
    await keeper.pause_session(paused.session_id)
    closed = await keeper.chat("Thanks, that is all", agent="parrot")
    await keeper.close_session(closed.session_id)
    await keeper.keys.create("nightly export")
    with suppress(AgentNotFound):
        await keeper.chat("Is anybody there?", agent="nobody")
    return World(
        memory=memory,
        form=booking.session_id,
        failed=failed,
        failed_run=run,
        answered_run=answered,
        earlier_run=earlier,
    )


def _register(keeper: Turnkeeper) -> None:
    @keeper.agent("author")
    async def author(turn: AgentTurn) -> str:
        """Writes a guide, and publishes it."""
        text = f"{GUIDE}\nEdition {turn.number}: {turn.text}.\n"
        kept = await turn.substrate.emit(text.encode(), path="guide.md")
        await turn.substrate.publish({"guide.md": kept}, pointer=turn.params["pointer"], message=turn.text)
        return text


async def _remember(keeper: Turnkeeper) -> tuple[str, str, str]:
    session = await keeper.create_session(title="Getting to the island", agent="symbolic")
    base = await keeper.bases.create("Handbook of the harbour")
    await keeper.bases.add_source(base.id, "harbour.md", "The ferry takes cars. The pier opens at five.")
    await keeper.bases.mount(session.id, base.id)
    runs = [
        (await keeper.chat(text, session_id=session.id)).run_id
        for text in (
            "The ferry leaves at six.",
            "When does the ferry leave?",
            "The ferry leaves at seven.",
            "When does the ferry leave?",
        )
    ]
    return session.id, runs[1], runs[3]


async def _publish(keeper: Turnkeeper) -> None:
    guide = await keeper.pointers.create("guide")
    pin = Pin(kind=MountKind.POINTER, id=guide.id)
    session = await keeper.create_session(title="The guide of the harbour", agent="author", pins=[pin])
    for text in ("Write the guide", "Write it again"):
        await keeper.chat(text, session_id=session.id, params={"pointer": guide.id})


async def _fail(keeper: Turnkeeper) -> tuple[str, str]:
    session = await keeper.create_session(title="Weather at the pier", agent=WEATHER_AGENT)
    try:
        await keeper.chat("What is the weather at the pier?", session_id=session.id)
    except RunEnded as ended:
        return session.id, ended.run.id
    raise AssertionError("The station answered.")
