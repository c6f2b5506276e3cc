"""What a critic, or an agent about itself, has judged."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Phase(StrEnum):
    """Before something is done its plan is verified; afterwards its result is scored."""

    VERIFY = "verify"
    SCORE = "score"


class Judgement(StrEnum):
    OK = "ok"
    REPLAN = "replan"
    REJECT = "reject"
    ACCEPT = "accept"
    RETRY = "retry"
    ESCALATE = "escalate"


ALLOWED = {
    Phase.VERIFY: frozenset({Judgement.OK, Judgement.REPLAN, Judgement.REJECT}),
    Phase.SCORE: frozenset({Judgement.ACCEPT, Judgement.RETRY, Judgement.REPLAN, Judgement.ESCALATE}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """An agent yields it between its pieces of text. `kind` names why, such as `missing_evidence`."""

    phase: Phase
    value: Judgement
    step: str | None = None
    kind: str | None = None
    reasons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.value not in ALLOWED[self.phase]:
            raise ValueError(f"a {self.phase} verdict is one of {', '.join(sorted(ALLOWED[self.phase]))}")

    @property
    def told(self) -> dict[str, Any]:
        """As the feed and a checkpoint tell it."""
        return {
            "phase": self.phase.value,
            "value": self.value.value,
            "kind": self.kind,
            "reasons": list(self.reasons),
            "step_id": self.step,
        }
