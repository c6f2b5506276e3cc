"""Durable state of a long or waiting run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.dialogue import Dialogue, IntentView
from turnkeeper.model.ids import ApprovalId, RunId
from turnkeeper.model.message import Speaker
from turnkeeper.model.verdict import Verdict

_YES = {"yes", "y", "ok", "okay", "approve", "approved", "go", "go ahead", "true"}
_NO = {"no", "n", "deny", "denied", "reject", "rejected", "stop", "false"}


class AskKind(StrEnum):
    """`input` is a question of the agent; `approval` asks whether to go on: at a gate, or after `escalate`."""

    INPUT = "input"
    APPROVAL = "approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question of an agent, what it had said before it, and the answer once there is one.

    One that an approval decides names it, and what it is for by a key that is the same in every walk.
    """

    said: str
    question: str
    answer: str | None = None
    kind: AskKind = AskKind.INPUT
    approval_id: ApprovalId | None = None
    approval_key: str | None = None

    @property
    def shown(self) -> str:
        return f"{self.said}\n{self.question}" if self.said else self.question

    @property
    def spoken(self) -> tuple[tuple[Speaker, str], ...]:
        """What of it belongs to the conversation. What a person decided elsewhere was not said by the user."""
        if self.approval_id is not None:
            return ((Speaker.ASSISTANT, self.said),) if self.said else ()
        return (Speaker.ASSISTANT, self.shown), (Speaker.USER, self.answer or "")

    @property
    def approves(self) -> bool | None:
        """Whether the answer is a yes or a no; None when it is neither."""
        word = (self.answer or "").strip().strip(".!").casefold()
        return True if word in _YES else False if word in _NO else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The asks and verdicts of a run so far. A resumed agent starts again and finds them already there.

    `said` is what it has said since its last question and up to its last verdict, `used` what it had spent by then.
    What is `held` back for a critic was not shown to anyone yet. `request_id` and `warnings` are those of its message,
    which the run does not keep beyond its end.
    `feed_no` is the newest entry of the feed that is part of it. `intent` and `dialogue` are what the run had
    understood and staged when the session stood at `revision`. `position` is where an agent with a memory of its own
    goes on from.
    """

    asks: tuple[Ask, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    said: str = ""
    held: bool = False
    used: Mapping[str, float] = field(default_factory=dict)
    feed_no: int = field(default=0, compare=False)
    intent: IntentView | None = None
    dialogue: Dialogue | None = None
    revision: int = 0
    request_id: str | None = None
    warnings: tuple[str, ...] = ()
    position: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.asks and not self.verdicts:
            raise ValueError("a Checkpoint holds a question or a verdict")
        if any(ask.answer is None for ask in self.asks[:-1]):
            raise ValueError("only the last question of a Checkpoint may be open")

    @property
    def shown(self) -> str:
        """As much of what it has said as its readers may have seen."""
        return "" if self.held else self.said

    @property
    def open_ask(self) -> Ask | None:
        """The question that waits for its answer."""
        return self.asks[-1] if self.asks and self.asks[-1].answer is None else None

    def answered(self, answer: str) -> "Checkpoint":
        return replace(self, asks=(*self.asks[:-1], replace(self.asks[-1], answer=answer)))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCheckpoint:
    """Checkpoint number `seq` of its run, as it was kept."""

    run_id: RunId
    seq: int
    at: datetime
    checkpoint: Checkpoint

    @property
    def id(self) -> str:
        return checkpoint_id(self.run_id, self.seq)


def checkpoint_id(run_id: RunId, seq: int) -> str:
    """Made of the run and the number, so that whoever keeps a checkpoint can name it without asking."""
    return f"ckpt_{run_id.removeprefix('run_')}-{seq:04d}"
