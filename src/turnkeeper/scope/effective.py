"""How far a session reaches at this moment, read live: what was inherited is frozen, what was taken away is not."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec

from turnkeeper.errors import (
    IsolationUnavailable,
    LayerNotActive,
    LayerNotFound,
    LayerSuspended,
    PointerNotFound,
    TenantSuspended,
)
from turnkeeper.model.ids import AgentId, KnowledgeBaseId, PointerId, TenantId
from turnkeeper.model.layer import Layer, LayerStatus
from turnkeeper.model.mount import MountKind, MountRef
from turnkeeper.model.pointer import Pointer
from turnkeeper.model.principal import Principal
from turnkeeper.model.purpose import IN_PROCESS, Purpose
from turnkeeper.model.run import Run
from turnkeeper.model.scope import NOTHING_INHERITED, ChainLink, Context, Level, SessionScope
from turnkeeper.model.session import Session
from turnkeeper.ports.artifacts import ArtifactStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.contexts import ContextStore
from turnkeeper.ports.definitions import DefinitionStore
from turnkeeper.ports.knowledge_bases import KnowledgeBaseStore
from turnkeeper.ports.layers import LayerStore
from turnkeeper.scope.directory import Directory
from turnkeeper.scope.inheritance import (
    Choice,
    Revoked,
    Stand,
    Wish,
    canonical,
    effective_of,
    excluded_by,
    narrowed,
    resolve,
    views,
)

MOST_REMEMBERED = 256
_decode = msgspec.json.Decoder(Context).decode


class Pointers(Protocol):
    async def get(self, tenant: TenantId, pointer_id: PointerId) -> Pointer:
        """Raises PointerNotFound, also for one that was deleted."""

    async def living(self, tenant: TenantId, pointer_ids: Sequence[PointerId]) -> frozenset[PointerId]:
        """Those of these that are there and were not deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A context with its hash, and the layers that it came from. Nothing inherited has no hash."""

    context: Context
    sha256: str | None
    layers: Sequence[Layer]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveScopes:
    """`Scopes` on the stores. Contexts never change, so each is read once."""

    directory: Directory
    layers: LayerStore
    definitions: DefinitionStore
    contexts: ContextStore
    bases: KnowledgeBaseStore
    artifacts: ArtifactStore
    pointers: Pointers
    clock: Clock
    _known: dict[tuple[TenantId, str], Context] = field(default_factory=dict)

    async def of(self, session: Session) -> SessionScope:
        if session.context_sha256 is None and not session.mounts and session.purpose.project_id is None:
            # The usual case costs next to nothing: it inherited and mounted nothing, so nothing can be revoked but all.
            own = await self.directory.tenant(session.tenant)
            by = _suspended((own,) if own else ())
            return SessionScope(
                tenant=session.tenant,
                session_id=session.id,
                is_suspended=by is not None,
                suspended_by=by,
                backend=session.purpose.backend,
            )
        context = await self.context(session)
        purpose = session.purpose
        layers = await self.layers.above(session.tenant, purpose.project_id, purpose.objective_id)
        choice = Choice(pins=session.mounts, removed=session.removed)
        refs = {given.ref for given in context.mounts} | {pin.ref for pin in session.mounts}
        revoked = Revoked(excluded=excluded_by(layers), gone=await self.gone(session.tenant, refs))
        seen = views(context, choice, revoked, began=session.created_at)
        by = _suspended(layers)
        return SessionScope(
            tenant=session.tenant,
            session_id=session.id,
            context=context,
            mounts=effective_of(seen),
            views=seen,
            is_suspended=by is not None,
            suspended_by=by,
            backend=purpose.backend,
        )

    async def of_run(self, session: Session, run: Run) -> SessionScope:
        scope = await self.of(session)
        if run.custody.is_ours and run.agent == session.agent:
            return scope
        definition = await self.directory.agent(run.tenant, run.agent)
        if not run.custody.is_ours:
            # Nothing of it is kept here, so it inherits with every run, and no mounts.
            own = await self.directory.tenant(run.tenant)
            context = replace(resolve((own,) if own else (), agent=definition), mounts=())
            return replace(scope, context=await self._under_its_model(run.tenant, context))
        return scope if definition is None else replace(scope, context=narrowed(scope.context, definition))

    async def context(self, session: Session) -> Context:
        if session.context_sha256 is None:
            return NOTHING_INHERITED
        key = (session.tenant, session.context_sha256)
        if key not in self._known:
            found = await self.contexts.find(*key)
            assert found is not None, "a session names a context that was kept before it"
            self._remember(key, _decode(found))
        return self._known[key]

    async def resolve(
        self, tenant: TenantId, agent: AgentId, purpose: Purpose, *, or_stricter: bool = False
    ) -> Resolved:
        """What a session of this purpose inherits now; kept for good, so that a session may name it.

        With `or_stricter` a policy of the layers that is stricter than that of the purpose counts, and is no fault.
        Raises LayerNotFound, LayerNotActive, PolicyRelaxation, ModelNotAllowed or IsolationUnavailable.
        """
        layers = await self.layers_of(tenant, purpose)
        definition = await self.directory.agent(tenant, agent)
        wish = Wish(policy=purpose.policy, model_profile=purpose.model_profile, or_stricter=or_stricter)
        stands = await self._stands(tenant, layers)
        context = resolve(layers, agent=definition, wish=wish, stands=stands)
        context = await self._under_its_model(tenant, context)
        refuse_isolation(context, purpose.backend)
        if context == NOTHING_INHERITED:
            return Resolved(context=context, sha256=None, layers=layers)
        written = canonical(context)
        sha256 = hashlib.sha256(written.encode()).hexdigest()
        if (tenant, sha256) not in self._known:
            await self.contexts.keep(tenant, sha256, written, at=self.clock.now())
            self._remember((tenant, sha256), _decode(written))
        return Resolved(context=context, sha256=sha256, layers=layers)

    async def excluded(self, session: Session) -> frozenset[MountRef]:
        """What the layers above a session do not let it have now."""
        purpose = session.purpose
        return excluded_by(await self.layers.above(session.tenant, purpose.project_id, purpose.objective_id))

    async def gone(self, tenant: TenantId, refs: Collection[MountRef]) -> frozenset[MountRef]:
        """Those of these that are not there, or not any more. What came with a pack stays with it."""
        bases = [ref for ref in refs if ref.kind is MountKind.KNOWLEDGE_BASE]
        there = await self.bases.revisions(tenant, [KnowledgeBaseId(ref.id) for ref in bases]) if bases else {}
        pointers = [ref for ref in refs if ref.kind is MountKind.POINTER]
        living = await self.pointers.living(tenant, [PointerId(ref.id) for ref in pointers]) if pointers else ()
        contents = [ref for ref in refs if ref.kind is MountKind.ARTIFACT]
        kept = await self.artifacts.kept_of(tenant, [ref.id for ref in contents]) if contents else ()
        return frozenset(
            [ref for ref in bases if KnowledgeBaseId(ref.id) not in there]
            + [ref for ref in pointers if PointerId(ref.id) not in living]
            + [ref for ref in contents if ref.id not in kept]
        )

    async def is_open(self, ref: MountRef, principal: Principal) -> bool:
        """Whether a person may mount it: an artifact only who may read it, all else everyone of the tenant."""
        if ref.kind is not MountKind.ARTIFACT:
            return True
        found = await self.artifacts.of_content(principal.tenant, ref.id)
        is_theirs = any(artifact.is_open_to(principal) for artifact in found)
        return is_theirs or await self.artifacts.is_in_a_manifest(principal.tenant, ref.id)

    async def stand(self, tenant: TenantId, ref: MountRef) -> Stand | None:
        """Where a resource stands now; None when it is not there."""
        if ref.kind is MountKind.POINTER:
            return await self._stand_of_pointer(tenant, ref)
        if ref.kind is MountKind.ARTIFACT:
            return Stand() if await self.artifacts.of_content(tenant, ref.id) else None
        revisions = await self.bases.revisions(tenant, [KnowledgeBaseId(ref.id)])
        revision = revisions.get(KnowledgeBaseId(ref.id))
        return None if revision is None else Stand(revision=revision)

    async def layers_of(self, tenant: TenantId, purpose: Purpose) -> Sequence[Layer]:
        """Those in which a session of this purpose may begin. Raises LayerNotFound or LayerNotActive."""
        if purpose.project_id is None and purpose.objective_id is None:
            own = await self.directory.tenant(tenant)
            layers: Sequence[Layer] = () if own is None else (own,)
        else:
            layers = await self.layers.above(tenant, purpose.project_id, purpose.objective_id)
        found = {layer.level: layer for layer in layers}
        for level, id in ((Level.PROJECT, purpose.project_id), (Level.OBJECTIVE, purpose.objective_id)):
            if id is not None and level not in found:
                raise LayerNotFound(level, id)
        objective = found.get(Level.OBJECTIVE)
        if objective is not None and objective.project_id != purpose.project_id:
            raise LayerNotFound(Level.OBJECTIVE, objective.id)
        for layer in layers:
            if layer.status is not LayerStatus.ACTIVE:
                raise LayerNotActive(layer.level, layer.id, layer.status)
        return layers

    async def _stands(self, tenant: TenantId, layers: Sequence[Layer]) -> dict[MountRef, Stand]:
        refs = dict.fromkeys(default.ref for layer in layers for default in layer.terms.mounts)
        found = {ref: await self.stand(tenant, ref) for ref in refs if ref.kind is not MountKind.ARTIFACT}
        return {ref: stand for ref, stand in found.items() if stand is not None}

    async def _under_its_model(self, tenant: TenantId, context: Context) -> Context:
        """A model that may call no tools leaves none. One that nobody has described is taken by its name."""
        if context.model_profile is None:
            return context
        profile = await self.definitions.model(tenant, context.model_profile)
        if profile is None or not profile.traits.no_tool_calls or "*" in context.blocked_tools:
            return context
        place = f"blocked_tools.{len(context.blocked_tools)}"
        return replace(
            context,
            blocked_tools=(*context.blocked_tools, "*"),
            provenance={**context.provenance, place: context.provenance["model_profile"]},
        )

    async def _stand_of_pointer(self, tenant: TenantId, ref: MountRef) -> Stand | None:
        try:
            pointer = await self.pointers.get(tenant, PointerId(ref.id))
        except PointerNotFound:
            return None
        return Stand(manifest=pointer.manifest)

    def _remember(self, key: tuple[TenantId, str], context: Context) -> None:
        if len(self._known) >= MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = context


def _suspended(layers: Sequence[Layer]) -> ChainLink | None:
    return next((layer.link for layer in layers if layer.status is LayerStatus.SUSPENDED), None)


def refuse_suspended(scope: SessionScope) -> None:
    """Raises TenantSuspended or LayerSuspended."""
    by = scope.suspended_by
    if by is not None:
        raise TenantSuspended() if by.level is Level.TENANT else LayerSuspended(by.level, by.id)


def refuse_isolation(context: Context, backend: str) -> None:
    """Raises IsolationUnavailable where something else than this process is wanted: there is nothing else yet."""
    if backend != IN_PROCESS:
        raise IsolationUnavailable(f"The session asks for the backend {backend!r}.")
    if context.needs_isolation:
        level = context.provenance["needs_isolation"]
        raise IsolationUnavailable(f"The {level} of this session demands that its tools are isolated.")
