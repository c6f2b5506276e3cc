"""Who a caller is right now: the role and the status that its tenant gave it, and whether the tenant itself may act.

Looked at with every request, so it is kept for at most a second; a change made through this process is seen at once.
"""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from turnkeeper.errors import TenantSuspended, UserSuspended
from turnkeeper.model.definition import AgentDefinition
from turnkeeper.model.ids import AgentId, TenantId, UserId
from turnkeeper.model.layer import Layer, LayerStatus
from turnkeeper.model.principal import Principal
from turnkeeper.model.user import User, UserStatus
from turnkeeper.ports.definitions import DefinitionStore
from turnkeeper.ports.layers import LayerStore
from turnkeeper.ports.users import UserStore

KEPT_SECONDS = 1.0
MOST_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Directory:
    layers: LayerStore
    users: UserStore
    definitions: DefinitionStore
    _tenants: dict[TenantId, tuple[float, Layer | None]] = field(default_factory=dict)
    _users: dict[tuple[TenantId, str], tuple[float, User | None]] = field(default_factory=dict)
    _agents: dict[tuple[TenantId, str], tuple[float, AgentDefinition | None]] = field(default_factory=dict)

    async def admitted(self, principal: Principal) -> Principal:
        """The caller with the role that holds now. Raises TenantSuspended or UserSuspended.

        An operator is let in whatever tenants say.
        """
        if principal.is_operator:
            return principal
        tenant = await self.tenant(principal.tenant)
        if tenant is not None and tenant.status is not LayerStatus.ACTIVE:
            raise TenantSuspended(tenant.status)
        user = await self.user(principal.tenant, principal.holder)
        if user is None:
            return principal
        if user.status is UserStatus.SUSPENDED:
            raise UserSuspended
        if principal.session_id is not None:
            return principal  # Bound to one session, it may do less than any role.
        if principal.key_id is not None and principal.role.rank <= user.role.rank:
            return principal  # A key may be for less than its user, and never for more.
        return replace(principal, role=user.role)

    async def tenant(self, tenant: TenantId) -> Layer | None:
        """What a tenant says of itself; None where nobody has said anything."""
        now = asyncio.get_running_loop().time()
        known = self._tenants.get(tenant)
        if known is not None and now < known[0]:
            return known[1]
        found = next(iter(await self.layers.above(tenant)), None)
        _make_room(self._tenants)
        self._tenants[tenant] = (now + KEPT_SECONDS, found)
        return found

    async def user(self, tenant: TenantId, user: UserId) -> User | None:
        now = asyncio.get_running_loop().time()
        known = self._users.get((tenant, user))
        if known is not None and now < known[0]:
            return known[1]
        found = await self.users.find(tenant, user)
        _make_room(self._users)
        self._users[tenant, user] = (now + KEPT_SECONDS, found)
        return found

    async def agent(self, tenant: TenantId, agent: AgentId) -> AgentDefinition | None:
        """How a tenant wants an agent to be used."""
        now = asyncio.get_running_loop().time()
        known = self._agents.get((tenant, agent))
        if known is not None and now < known[0]:
            return known[1]
        found = await self.definitions.agent(tenant, agent)
        _make_room(self._agents)
        self._agents[tenant, agent] = (now + KEPT_SECONDS, found)
        return found

    def forget(self, tenant: TenantId) -> None:
        """Something of this tenant has changed: look again."""
        self._tenants.pop(tenant, None)
        _drop(self._users, tenant)
        _drop(self._agents, tenant)


def _make_room(kept: dict[Any, Any]) -> None:
    if len(kept) >= MOST_KEPT:
        kept.clear()


def _drop(kept: dict[tuple[TenantId, str], Any], tenant: TenantId) -> None:
    for key in [key for key in kept if key[0] == tenant]:
        del kept[key]
