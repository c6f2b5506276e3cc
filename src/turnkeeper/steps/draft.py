"""Everything a turn has staged so far. Nothing of it is written before the commit."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.ledger.trace import Trace
from turnkeeper.model.checkpoint import Ask
from turnkeeper.model.lease import Lease
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Run
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.session import Conversation
from turnkeeper.model.unit import Unit, UnitChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft:
    """A step takes one and returns the next. `reply` is set by the step that ended the run."""

    run: Run
    lease: Lease
    trace: Trace
    asks: tuple[Ask, ...] = ()
    conversation: Conversation | None = None
    context: RunContext | None = None
    text: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)
    staged_units: tuple[Unit, ...] = ()
    unit_changes: UnitChanges = field(default_factory=UnitChanges)
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
