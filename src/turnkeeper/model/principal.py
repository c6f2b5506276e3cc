"""Who is asking, as established before anything else is looked at."""

from dataclasses import dataclass
from enum import StrEnum

from turnkeeper.model.ids import HOUSE, KeyId, SessionId, TenantId, UserId


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"
    AGENT = "agent"

    @property
    def rank(self) -> int:
        """Nobody gives a role that ranks above their own."""
        return _RANKS[self]


_RANKS = {Role.OWNER: 5, Role.ADMIN: 4, Role.MEMBER: 3, Role.AGENT: 2, Role.VIEWER: 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """An authenticated caller. Nothing in a request can make it another one.

    `acted_by` is who really holds the token, where that is an owner or admin who speaks for this user. An operator runs
    the house: makes tenants, and may do so for all of them. One that is bound to a session reaches what that session
    reaches, and nothing else. One that is limited gets to some routes alone, each named by an area and a right in it,
    such as `sessions:read`; a `*` stands for all of either. `key_id` is the API key that was shown, if it was one.
    """

    tenant: TenantId
    user: UserId
    role: Role = Role.MEMBER
    grants: frozenset[str] = frozenset()
    acted_by: UserId | None = None
    is_operator: bool = False
    session_id: SessionId | None = None
    limited_to: frozenset[str] | None = None
    key_id: KeyId | None = None

    def __post_init__(self) -> None:
        if not self.tenant or not self.user:
            raise ValueError("a Principal needs a tenant and a user")
        if self.tenant == HOUSE:
            raise ValueError(f"the tenant {HOUSE!r} is reserved for the house")
        if self.session_id is not None and self.role is not Role.AGENT:
            raise ValueError("only an agent is bound to a session")

    @property
    def holder(self) -> UserId:
        """Who holds the token."""
        return self.acted_by or self.user

    @property
    def sees_whole_tenant(self) -> bool:
        """Owner and admin may open every session of their tenant; all others only their own."""
        return self.role in (Role.OWNER, Role.ADMIN)

    @property
    def holds_every_grant(self) -> bool:
        return self.sees_whole_tenant

    def is_let_into(self, asked: str) -> bool:
        """Whether the limits of the token allow what a route asks for."""
        if self.limited_to is None:
            return True
        area, _, right = asked.partition(":")
        return not self.limited_to.isdisjoint({asked, f"{area}:*", f"*:{right}", "*:*"})

    @property
    def may_write(self) -> bool:
        return self.role is not Role.VIEWER


LOCAL = Principal(tenant=TenantId("default"), user=UserId("local"), role=Role.OWNER, is_operator=True)
"""Who an embedding program is, unless it says otherwise."""
