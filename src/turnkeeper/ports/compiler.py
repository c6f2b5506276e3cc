"""What turns a session, a RunContext, Events and packs into what an agent works from."""

from typing import Protocol

from turnkeeper.model.compiled import CompiledContext
from turnkeeper.model.pack import Pack
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.session_state import SessionState


class Compiler(Protocol):
    def compile(self, state: SessionState, context: RunContext, packs: tuple[Pack, ...]) -> CompiledContext:
        """Pure: no I/O, no clock, nothing global, and the same for the same input.

        Within `context.prompt_tokens`. May raise anything; then the run fails with `compile_failed`, and no agent ran.
        """
