"""Agent definitions and model profiles: how agents may be used in a tenant, and which models they think with."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from turnkeeper.errors import DefinitionNotFound, EnvelopeInvalid, NotAllowed
from turnkeeper.keeping.layers import AuditOf, check_limits, well_typed
from turnkeeper.model.definition import AgentDefinition, AgentTraits, ModelProfile, ModelTraits
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import AgentId, is_id
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.definitions import DefinitionStore
from turnkeeper.scope.directory import Directory

MOST_DEFINITIONS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAgent:
    """An agent by its code, its definition, or both."""

    id: AgentId
    has_code: bool
    definition: AgentDefinition | None


class Definitions:
    """Everyone in a tenant reads them; its owner and admins put and remove them."""

    def __init__(
        self,
        store: DefinitionStore,
        directory: Directory,
        clock: Clock,
        *,
        living_agents: Callable[[], Awaitable[frozenset[AgentId]]],
        audit: AuditOf,
    ) -> None:
        self._store, self._directory, self._clock = store, directory, clock
        self._living_agents, self._audit = living_agents, audit

    async def agents(self, *, principal: Principal = LOCAL) -> Sequence[KnownAgent]:
        """Those whose code is registered on a living node, and those that are defined, by their ids."""
        defined = {
            each.id: each for each in await self._store.agents(principal.tenant, after="", limit=MOST_DEFINITIONS)
        }
        coded = await self._living_agents()
        return [
            KnownAgent(id=id, has_code=id in coded, definition=defined.get(id)) for id in sorted(coded | set(defined))
        ]

    async def agent(self, id: str, *, principal: Principal = LOCAL) -> KnownAgent:
        """Raises DefinitionNotFound when there is neither code nor definition."""
        definition = await self._store.agent(principal.tenant, AgentId(id)) if is_id(id) else None
        has_code = AgentId(id) in await self._living_agents()
        if definition is None and not has_code:
            raise DefinitionNotFound("agent", id)
        return KnownAgent(id=AgentId(id), has_code=has_code, definition=definition)

    async def put_agent(
        self,
        id: str,
        traits: AgentTraits,
        *,
        expected_version: int | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> AgentDefinition:
        """From the next session on, and with a rebase. Raises RevisionMoved, NotAllowed or EnvelopeInvalid."""
        self._check(id, principal)
        traits = well_typed(traits, AgentTraits)
        check_limits(traits.limits)
        now = self._clock.now()
        definition = AgentDefinition(
            tenant=principal.tenant,
            id=AgentId(id),
            traits=traits,
            created_by=principal.user,
            created_at=now,
            updated_at=now,
        )
        audit = self._audit(Command.PUT_DEFINITION, principal, trace_id, kind="agent", definition=id)
        kept = await self._store.put_agent(definition, audit, expected_version=expected_version)
        self._directory.forget(principal.tenant)
        return kept

    async def remove_agent(self, id: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> None:
        """Its code stays. Raises DefinitionNotFound."""
        self._check(id, principal)
        audit = self._audit(Command.REMOVE_DEFINITION, principal, trace_id, kind="agent", definition=id)
        if await self._store.agent(principal.tenant, AgentId(id)) is None:
            raise DefinitionNotFound("agent definition", id)
        await self._store.remove_agent(principal.tenant, AgentId(id), audit)
        self._directory.forget(principal.tenant)

    async def models(
        self, *, principal: Principal = LOCAL, cursor: str | None = None, limit: int = 50
    ) -> Sequence[ModelProfile]:
        return await self._store.models(principal.tenant, after=cursor or "", limit=limit)

    async def model(self, id: str, *, principal: Principal = LOCAL) -> ModelProfile:
        """Raises DefinitionNotFound."""
        found = await self._store.model(principal.tenant, id) if is_id(id) else None
        if found is None:
            raise DefinitionNotFound("model profile", id)
        return found

    async def put_model(
        self,
        id: str,
        traits: ModelTraits,
        *,
        expected_version: int | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> ModelProfile:
        """Its models and params hold from the next run on. Raises RevisionMoved, NotAllowed or EnvelopeInvalid."""
        self._check(id, principal)
        traits = well_typed(traits, ModelTraits)
        now = self._clock.now()
        profile = ModelProfile(
            tenant=principal.tenant,
            id=id,
            traits=traits,
            created_by=principal.user,
            created_at=now,
            updated_at=now,
        )
        audit = self._audit(Command.PUT_DEFINITION, principal, trace_id, kind="model", definition=id)
        return await self._store.put_model(profile, audit, expected_version=expected_version)

    async def remove_model(self, id: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> None:
        """Raises DefinitionNotFound."""
        self._check(id, principal)
        audit = self._audit(Command.REMOVE_DEFINITION, principal, trace_id, kind="model", definition=id)
        await self.model(id, principal=principal)
        await self._store.remove_model(principal.tenant, id, audit)

    def _check(self, id: str, principal: Principal) -> None:
        if not principal.sees_whole_tenant:
            raise NotAllowed("Only owner and admin of a tenant define agents and models. Ask one of them.")
        if not is_id(id):
            raise EnvelopeInvalid.at("/id", "must be 1 to 128 letters, digits or any of _ . : @ -")
