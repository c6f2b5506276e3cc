"""Open the session through its custodian, with the packs that it is pinned to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from turnkeeper.errors import PackVersionMismatch
from turnkeeper.model.pack import PackPin
from turnkeeper.model.run import Run
from turnkeeper.model.session import Custody, Session
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.agent import Agents
from turnkeeper.ports.custodian import Custodian
from turnkeeper.steps.draft import TurnDraft


@dataclass(frozen=True, slots=True)
class OpenSession:
    custodians: Mapping[Custody, Custodian]
    packs: PackShelf
    agents: Agents

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        conversation = await self.custodians[draft.run.custody].open(draft.run)
        session = conversation.session
        pins = await self._pins(draft.run, session)
        if pins:
            mounts = (*session.mounts, *await self.packs.mounts(session.tenant, pins))
            conversation = replace(conversation, session=replace(session, packs=pins, mounts=mounts))
        return replace(
            draft,
            conversation=conversation,
            state=conversation.state,
            dialogue=session.dialogue,
            new_pins=pins if pins != session.packs else None,
        )

    async def _pins(self, run: Run, session: Session) -> tuple[PackPin, ...]:
        """What the session is pinned to; at its first turn, what the message or else its agent wants."""
        wanted = run.input.pack
        if session.packs or session.turns > 0:
            check_pins(session, wanted)
            return session.packs
        if wanted is None and run.input.command is None:
            agent = self.agents.get(run.agent)
            wanted = agent.policy.pack if agent else None
        return (await self.packs.find(session.tenant, wanted),) if wanted else ()


def check_pins(session: Session, wanted: str | None) -> None:
    """Raises PackVersionMismatch when a message wants another pack than the one that its session is pinned to."""
    held = {ref for pin in session.packs for ref in (pin.id, pin.ref)}
    if wanted is not None and wanted not in held:
        pinned = ", ".join(pin.ref for pin in session.packs) or None
        raise PackVersionMismatch(session.id, pinned=pinned, requested=wanted)
