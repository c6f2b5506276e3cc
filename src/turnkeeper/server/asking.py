"""Who may ask for a route, said beside it: `@asks("sessions:write")`.

What is asked for is an area of the API, such as sessions, with a right in it. A role has a right in every area or in
none; a token may be limited to some of them.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from turnkeeper.errors import NotAllowed
from turnkeeper.model.principal import Principal, Role

F = TypeVar("F", bound=Callable[..., Any])


class Right(StrEnum):
    READ = "read"
    WRITE = "write"
    MANAGE = "manage"
    OPERATE = "operate"

    def is_of(self, principal: Principal) -> bool:
        return principal.is_operator if self is Right.OPERATE else principal.role in HOLDERS[self]


HOLDERS: dict[Right, tuple[Role, ...]] = {
    Right.READ: tuple(Role),
    Right.WRITE: (Role.OWNER, Role.ADMIN, Role.MEMBER, Role.AGENT),
    Right.MANAGE: (Role.OWNER, Role.ADMIN),
}
"""An operator is one whatever their role is."""


OWN = "login:read"
"""Who one is, and leaving: no limit of a token takes that away."""


def asks(*wanted: str) -> Callable[[F], F]:
    """One of these is needed. Whose things they may be, and which of them, is asked further in."""
    for each in wanted:
        Right(each.partition(":")[2])

    def declare(endpoint: F) -> F:
        endpoint.asks = wanted  # type: ignore[attr-defined]
        return endpoint

    return declare


def asked_by(endpoint: Callable[..., Any]) -> tuple[str, ...]:
    """What was said beside a route. A route that says nothing is a mistake of ours."""
    wanted: tuple[str, ...] | None = getattr(endpoint, "asks", None)
    if not wanted:
        raise ValueError(f"say with @asks who may ask for {endpoint.__name__}")
    return wanted


def check_asked(wanted: tuple[str, ...], principal: Principal) -> None:
    """Raises NotAllowed, which names what is missing."""
    rights = [Right(each.partition(":")[2]) for each in wanted]
    held = [each for each, right in zip(wanted, rights, strict=True) if right.is_of(principal)]
    if not held:
        whom = f"This is for {_named(rights)}, and you are {principal.role}."
        raise NotAllowed(f"{whom} Ask one of them.", needs=wanted[0])
    if not any(principal.is_let_into(each) or each == OWN for each in held):
        raise NotAllowed(f"This token is limited, and not to {held[0]}. Ask for a token that has it.", needs=held[0])


def _named(rights: list[Right]) -> str:
    roles = dict.fromkeys(str(role) for right in rights for role in HOLDERS.get(right, ()))
    people = [f"the roles {', '.join(roles)}"] if roles else []
    return " or ".join([*people, *(["the operator of this server"] if Right.OPERATE in rights else [])])
