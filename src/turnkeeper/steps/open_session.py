"""Open the session through its custodian, with the packs that it is pinned to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from turnkeeper.errors import PackVersionMismatch
from turnkeeper.model.band import Band, Lifetime, lifetime
from turnkeeper.model.pack import Classification, PackPin
from turnkeeper.model.run import Run
from turnkeeper.model.scope import Context
from turnkeeper.model.session import Custody, Session
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.agent import Agents
from turnkeeper.ports.custodian import Custodian
from turnkeeper.ports.scopes import Scopes
from turnkeeper.scope.effective import refuse_isolation, refuse_suspended
from turnkeeper.steps.draft import TurnDraft


@dataclass(frozen=True, slots=True)
class OpenSession:
    custodians: Mapping[Custody, Custodian]
    packs: PackShelf
    agents: Agents
    bands: Mapping[Classification, Band]
    scopes: Scopes

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        conversation = await self.custodians[draft.run.custody].open(draft.run)
        scope = await self.scopes.of_run(conversation.session, draft.run)
        refuse_suspended(scope)
        if conversation.session.context_sha256 is not None:
            draft.trace.note("context", told(conversation.session.context_sha256, scope.context))
        refuse_isolation(scope.context, scope.backend)
        session = conversation.session
        if scope.views:
            # From here on the mounts of the session are those that hold now, wherever they come from.
            session = replace(session, mounts=tuple(each.mount for each in scope.mounts))
        pins = await self._pins(draft.run, session)
        if pins:
            mounts = (*session.mounts, *await self.packs.mounts(session.tenant, pins))
            session = replace(session, packs=pins, mounts=mounts)
        new_pins = pins if pins != conversation.session.packs else None
        life = await lifetime_of(session, pins, self.packs, self.bands) if new_pins else None
        conversation = replace(conversation, session=session.living_for(life))
        return replace(
            draft,
            conversation=conversation,
            state=conversation.state,
            dialogue=session.dialogue,
            new_pins=new_pins,
            lifetime=life,
            scope=scope,
        )

    async def _pins(self, run: Run, session: Session) -> tuple[PackPin, ...]:
        """What the session is pinned to; at its first turn, what the message or else its agent wants."""
        wanted = run.input.packs
        if session.packs or session.turns > 0:
            check_pins(session, wanted, all_of_them=run.input.names_every_pack)
            return session.packs
        if not wanted and run.input.command is None:
            agent = self.agents.get(run.agent)
            wanted = (agent.policy.pack,) if agent and agent.policy.pack else ()
        return tuple([await self.packs.find(session.tenant, ref) for ref in wanted])


def told(sha256: str, context: Context) -> dict[str, Any]:
    """What a session inherited, as an Explanation names it: from which layers, and which of them gave what."""
    return {
        "context_sha256": sha256,
        "chain": [{"level": link.level, "id": link.id, "revision": link.revision} for link in context.chain],
        "provenance": dict(context.provenance),
    }


async def lifetime_of(
    session: Session, pins: tuple[PackPin, ...], packs: PackShelf, bands: Mapping[Classification, Band]
) -> Lifetime | None:
    """How long a session may live with these packs. What it has held before is of the class that it was of."""
    classes = [(await packs.open(session.tenant, pin)).classification for pin in pins]
    if session.classification is not None:
        classes.append(session.classification)
    return lifetime(session.created_at, classes, bands)


def check_pins(session: Session, wanted: tuple[str, ...], *, all_of_them: bool) -> None:
    """Raises PackVersionMismatch when a message wants other packs than those that its session is pinned to.

    Their order does not matter. Who names all of them must leave none out.
    """
    pinned = {pin.id: pin.ref for pin in session.packs}
    differing = [ref for ref in wanted if ref not in pinned and ref not in pinned.values()]
    named = {ref.partition("@")[0] for ref in wanted}
    left_out = [ref for name, ref in pinned.items() if name not in named] if all_of_them else []
    if differing or left_out:
        pointer = "/context_pack_refs" if all_of_them else "/pack"
        raise PackVersionMismatch(session.id, pinned=tuple(pinned.values()), requested=wanted, pointer=pointer)
