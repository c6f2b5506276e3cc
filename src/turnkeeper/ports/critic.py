"""Who judges a turn: before its agent runs, after it, or both."""

from typing import Protocol, runtime_checkable

from turnkeeper.model.verdict import Verdict
from turnkeeper.ports.agent import AgentTurn


@runtime_checkable
class Verifier(Protocol):
    async def verify(self, turn: AgentTurn) -> Verdict:
        """Before the agent runs. `reject` ends the run, everything else lets it go on."""


@runtime_checkable
class Scorer(Protocol):
    async def score(self, turn: AgentTurn, text: str) -> Verdict:
        """Once the agent has answered, and before anyone has seen it. `retry` and `replan` ask the agent again."""


Critic = Verifier | Scorer
