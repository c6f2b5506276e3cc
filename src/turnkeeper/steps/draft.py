"""Everything a turn has staged so far. Nothing of it is written before the commit."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnkeeper.ledger.trace import Trace
from turnkeeper.model.band import Lifetime
from turnkeeper.model.budget import Budget
from turnkeeper.model.checkpoint import Ask, Checkpoint
from turnkeeper.model.compiled import CompiledContext
from turnkeeper.model.dialogue import Dialogue, IntentView
from turnkeeper.model.lease import Lease
from turnkeeper.model.pack import PackPin
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Run
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.scope import SessionScope
from turnkeeper.model.session import Conversation
from turnkeeper.model.unit import Unit, UnitChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft:
    """A step takes one and returns the next. `reply` is set by the step that ended the run.

    `answer` is a text that was settled before the agent is asked, `afterword` what is said behind the answer, whoever
    gives it, and `served_intent` the code of the intent that this turn is about. A draft that is over needs no further
    step: its run ends with `text` and without a turn.
    """

    run: Run
    lease: Lease
    trace: Trace
    asks: tuple[Ask, ...] = ()
    resumed: Checkpoint | None = None
    conversation: Conversation | None = None
    dialogue: Dialogue = field(default_factory=Dialogue)
    intent: IntentView | None = None
    served_intent: str | None = None
    deadline: datetime | None = None
    budget: Budget | None = None
    context: RunContext | None = None
    compiled: CompiledContext | None = None
    answer: str | None = None
    afterword: str | None = None
    text: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)
    agent_head: Mapping[str, Any] | None = None
    staged_units: tuple[Unit, ...] = ()
    unit_changes: UnitChanges = field(default_factory=UnitChanges)
    new_pins: tuple[PackPin, ...] | None = None
    lifetime: Lifetime | None = None
    scope: SessionScope | None = None
    has_reset: bool = False
    is_over: bool = False
    reply: Reply | None = None
    queued: int = 0

    @property
    def opened(self) -> Conversation:
        assert self.conversation is not None, "open_session comes first"
        return self.conversation

    @property
    def materialized(self) -> RunContext:
        assert self.context is not None, "materialize comes first"
        return self.context


Step = Callable[[TurnDraft], Awaitable[TurnDraft]]
