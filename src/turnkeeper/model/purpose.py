"""What a session is for, as the person who began it said."""

from dataclasses import dataclass, replace
from enum import StrEnum

from turnkeeper.model.ids import LayerId

IN_PROCESS = "inproc"
"""The backend in which tools run inside the process of the engine; the only one there is."""


class Module(StrEnum):
    """Where in an application a person works; switching it keeps the session."""

    RESEARCH = "research"
    ANALYSIS = "analysis"
    DOCUMENT = "document"
    MODELLING = "modelling"
    KNOWLEDGE = "knowledge"
    INSIGHT = "insight"


class PolicyTemplate(StrEnum):
    """How much care the actions of a session need, from the laxest to the strictest."""

    EXPLORATORY = "exploratory"
    STANDARD = "standard"
    REGULATED = "regulated"
    AUDIT_CRITICAL = "audit_critical"

    @property
    def rank(self) -> int:
        return list(PolicyTemplate).index(self)


def strictest(*templates: PolicyTemplate | None) -> PolicyTemplate:
    """The strictest of those that are set; `standard` where none is."""
    return max((each for each in templates if each is not None), key=lambda each: each.rank, default=STANDARD)


STANDARD = PolicyTemplate.STANDARD


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """`objective` is a text of the person, `objective_id` a layer that the session inherits from.

    `policy` and `model_profile` are what was asked for this session alone; what holds is in its context.
    """

    module: Module | None = None
    project_id: LayerId | None = None
    objective_id: LayerId | None = None
    objective: str | None = None
    policy: PolicyTemplate | None = None
    model_profile: str | None = None
    backend: str = IN_PROCESS

    def inherits_like(self, other: "Purpose") -> bool:
        """Whether both inherit from the same layers, and ask for the same themselves."""
        return replace(self, module=other.module, objective=other.objective) == other
