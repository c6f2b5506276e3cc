"""An agent that writes down all that a turn can read, and does what the metadata of its message tell it to."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

from turnkeeper import AgentTurn
from turnkeeper.model.ids import RunId, UnitId
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.recall import UnitQuery
from turnkeeper.model.unit import PhaseScope, Relation, Unit, UnitRole

OF_ITS_PLACE = ("id", "chunk_id", "created_at", "ingested_at")
"""What a unit says of where and when it was kept."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """`read` is what one walk through the agent found, the rest what it left behind if its turn is kept."""

    read: Mapping[str, Any]
    epoch: int
    state: Mapping[str, Any]
    facts: tuple[str, ...] = ()
    preferences: Preferences | None = None
    fails: bool = False


class Recorder:
    """Deeds are words in the metadata `deeds`: remember, prefer, ask, fail and spoil. `no` makes them differ."""

    def __init__(self) -> None:
        self.records: dict[RunId, list[Record]] = {}

    async def __call__(self, turn: AgentTurn) -> str:
        deeds, no = turn.metadata["deeds"], turn.metadata["no"]
        read = await everything_in(turn)
        turn.state["said"] = [*turn.state.get("said", []), turn.text][-5:]
        facts = (f"Fact number {no % 3} is known.",) if "remember" in deeds else ()
        for fact in facts:
            turn.remember(a_unit(fact, about=f"number {no % 3}"))
        preferences = None
        if "prefer" in deeds:
            preferences = Preferences(model=f"model-{no % 2}", plugins={"seed": f"plugin-{no % 3}"}, level=no % 4)
            turn.notes.ran("seed", f"plugin-{no % 3}")
            turn.notes.answered("answered", model=preferences.model, level=preferences.level)
        record = Record(
            read=read,
            epoch=turn.context.epoch,
            state=deepcopy(dict(turn.state)),
            facts=facts,
            preferences=preferences,
            fails="fail" in deeds or "spoil" in deeds,
        )
        self.records.setdefault(turn.context.run_id, []).append(record)
        answer = f" ({await turn.ask('How so?')})" if "ask" in deeds else ""
        if "fail" in deeds:
            raise RuntimeError
        if "spoil" in deeds:
            turn.state["said"] = object()
        return f"Agent: {turn.text}{answer}"


def a_unit(claim: str, *, about: str) -> Unit:
    """One that every way to look for units can find."""
    return Unit(
        id=UnitId("staged::unit-000"),
        source_id="session",
        chunk_id="session::staged",
        role=UnitRole.DESCRIPTION,
        topic=about,
        claim=claim,
        subject=about,
        relation=Relation.ABOUT,
        object="facts",
        phase_scopes=(PhaseScope.KNOWLEDGE, PhaseScope.SOLVE),
    )


async def everything_in(turn: AgentTurn) -> Mapping[str, Any]:
    """All of it, without ids, numbers that only rise, times, scores and the budget, which is a new one each turn."""
    context = turn.context
    found = await turn.memory.search(UnitQuery(words="fact number known house", limit=100))
    about = await turn.memory.about(["facts"], limit=100)
    guidance = await turn.memory.guidance(PhaseScope.SOLVE, limit=100)
    return deepcopy(
        {
            "text": turn.text,
            "history": [(message.role.value, message.content) for message in turn.history],
            "state": dict(turn.state),
            "params": dict(turn.params),
            "metadata": dict(turn.metadata),
            "intent": None if turn.intent is None else asdict(turn.intent),
            "newest": [_placeless(unit) for unit in await turn.memory.newest(limit=100)],
            "found": sorted((each.place, each.unit.content) for each in found),
            "about": sorted((each.place, each.unit.content) for each in about),
            "guidance": sorted((each.place, each.unit.content) for each in guidance),
            "explicit": context.explicit,
            "preferred": context.preferred,
            "mounts": [(mount.kind, mount.id, mount.revision) for mount in context.mounts],
            "packs": context.packs,
            "agent": context.agent,
            "whose": (context.tenant, context.user),
        }
    )


def _placeless(unit: Unit) -> Mapping[str, Any]:
    return {name: value for name, value in asdict(unit).items() if name not in OF_ITS_PLACE}
