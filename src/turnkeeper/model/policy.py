"""How far tenants and channels let a run go, how much they may ask for, and how long what they say is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from turnkeeper.model.band import BANDS, Band
from turnkeeper.model.gate import GateRule
from turnkeeper.model.ids import TenantId
from turnkeeper.model.pack import Classification
from turnkeeper.model.safety import SafetyMode, narrowest


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """`grants` None lets every grant of the caller through; `budget` names the most that a run may use, by resource."""

    safety_mode: SafetyMode | None = None
    grants: frozenset[str] | None = None
    budget: Mapping[str, float] = field(default_factory=dict)

    def over(self, below: "Ceilings") -> "Ceilings":
        """What holds when this is written on top of another layer: what is not said here stays as it is there."""
        return Ceilings(
            safety_mode=self.safety_mode or below.safety_mode,
            grants=below.grants if self.grants is None else self.grants,
            budget={**below.budget, **self.budget},
        )

    def under(self, other: "Ceilings") -> "Ceilings":
        """What is left when both hold: a ceiling can only narrow another one."""
        budget = dict(other.budget)
        for name, most in self.budget.items():
            budget[name] = min(most, budget.get(name, most))
        grants = self.grants if other.grants is None else other.grants
        if self.grants is not None and other.grants is not None:
            grants = self.grants & other.grants
        mode = self.safety_mode if other.safety_mode is None else narrowest(other.safety_mode, self.safety_mode)
        return Ceilings(safety_mode=mode, grants=grants, budget=budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many messages a second in the long run, and so many at once."""

    per_second: float
    burst: int

    def __post_init__(self) -> None:
        if not 0 < self.per_second < float("inf") or self.burst < 1:
            raise ValueError("a Rate lets at least one message through")


NO_GRANTS = Ceilings(grants=frozenset())

FORGEABLE = {"email": NO_GRANTS, "sms": NO_GRANTS}
"""Whoever writes there may have lied about who they are. Unless an operator says more, they hold nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`everywhere` holds for every tenant that has no ceilings of its own; `channels` holds beside them.

    What a tenant says of a channel lies over what holds in general. `gates` come on top of those of the template of a
    session: they can only ask for more care.
    """

    everywhere: Ceilings = field(default_factory=lambda: Ceilings(safety_mode=SafetyMode.READ_ONLY))
    channels: Mapping[str, Ceilings] = field(default_factory=lambda: FORGEABLE)
    tenants: Mapping[TenantId, Ceilings] = field(default_factory=dict)
    tenant_channels: Mapping[TenantId, Mapping[str, Ceilings]] = field(default_factory=dict)
    rate: Rate = field(default_factory=lambda: Rate(per_second=200, burst=400))
    tenant_rates: Mapping[TenantId, Rate] = field(default_factory=dict)
    bands: Mapping[Classification, Band] = field(default_factory=lambda: BANDS)
    gates: tuple[GateRule, ...] = ()
    tenant_gates: Mapping[TenantId, tuple[GateRule, ...]] = field(default_factory=dict)

    def ceilings(self, tenant: TenantId, channel: str) -> Ceilings:
        own = self.tenants.get(tenant, self.everywhere)
        general = self.channels.get(channel, Ceilings())
        special = self.tenant_channels.get(tenant, {}).get(channel, Ceilings())
        return special.over(general).under(own)

    def gates_of(self, tenant: TenantId) -> tuple[GateRule, ...]:
        """The rules that hold in every session of the tenant, whatever its template says."""
        return self.gates + self.tenant_gates.get(tenant, ())

    def rate_of(self, tenant: TenantId) -> Rate:
        return self.tenant_rates.get(tenant, self.rate)
