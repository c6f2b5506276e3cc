"""Which actions of a session need a person, whom, and what happens when nobody decides in time."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from fnmatch import fnmatchcase

from turnkeeper.model.principal import Role
from turnkeeper.model.purpose import PolicyTemplate


class GateKind(StrEnum):
    """`approve` waits for a person, `review` goes on and asks one to look at it, `notify` tells, `auto` lets pass."""

    AUTO = "auto"
    NOTIFY = "notify"
    REVIEW = "review"
    APPROVE = "approve"

    @property
    def rank(self) -> int:
        return list(GateKind).index(self)


class TimeoutAction(StrEnum):
    """What becomes of an approval that nobody decides: it is refused, given, or asked of a higher role."""

    BLOCK = "block"
    AUTO_APPROVE = "auto_approve"
    ESCALATE = "escalate"


_HIGHER = {Role.MEMBER: Role.ADMIN, Role.ADMIN: Role.OWNER}
DECIDERS = (Role.MEMBER, Role.ADMIN, Role.OWNER)
"""Who may decide at all, from the least to the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRule:
    """`action` is a pattern such as `connector.*.write`. `member` means the user of the session, or above."""

    action: str
    kind: GateKind
    required_role: Role = Role.ADMIN
    timeout_action: TimeoutAction = TimeoutAction.BLOCK
    timeout_hours: float = 24.0

    def __post_init__(self) -> None:
        if not self.action:
            raise ValueError("a GateRule names an action")
        if self.required_role not in DECIDERS:
            raise ValueError(f"a gate is decided by {', '.join(DECIDERS)}, not by {self.required_role.value!r}")
        if not 0 < self.timeout_hours <= 24 * 366:
            raise ValueError("timeout_hours is above 0 and at most a year")

    @property
    def timeout(self) -> timedelta:
        return timedelta(hours=self.timeout_hours)

    def is_about(self, action: str) -> bool:
        return fnmatchcase(action, self.action)


def higher(role: Role) -> Role | None:
    """Who is asked next when nobody of this role has decided; None when there is nobody above."""
    return _HIGHER.get(role)


def may_decide(role: Role, required: Role) -> bool:
    return role in DECIDERS and DECIDERS.index(role) >= DECIDERS.index(required)


_PROMOTE = GateRule(action="substrate.pointer.promote", kind=GateKind.APPROVE)
_WRITE_OUTSIDE = GateRule(action="connector.*.write", kind=GateKind.APPROVE, required_role=Role.MEMBER)

TEMPLATES: dict[PolicyTemplate, tuple[GateRule, ...]] = {
    PolicyTemplate.EXPLORATORY: (),
    PolicyTemplate.STANDARD: (_PROMOTE, _WRITE_OUTSIDE, GateRule(action="claim.decide", kind=GateKind.REVIEW)),
    PolicyTemplate.REGULATED: (
        _PROMOTE,
        GateRule(action="connector.*.write", kind=GateKind.APPROVE),
        GateRule(action="schema.*", kind=GateKind.APPROVE),
        GateRule(action="claim.decide", kind=GateKind.APPROVE),
    ),
    PolicyTemplate.AUDIT_CRITICAL: tuple(
        GateRule(action=action, kind=GateKind.APPROVE, timeout_action=TimeoutAction.ESCALATE)
        for action in (
            *("substrate.pointer.advance", "substrate.pointer.promote", "substrate.pointer.reset"),
            *("connector.*", "claim.*", "schema.*", "model.*", "run.execute_workflow"),
        )
    ),
}


def gate_of(action: str, rules: tuple[GateRule, ...]) -> GateRule | None:
    """The strictest rule about an action; of equal ones the first. None lets it pass."""
    about = [rule for rule in rules if rule.is_about(action) and rule.kind is not GateKind.AUTO]
    return max(about, key=lambda rule: (rule.kind.rank, DECIDERS.index(rule.required_role)), default=None)
