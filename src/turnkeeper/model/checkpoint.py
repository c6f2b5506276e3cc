"""Durable state of a run that waits."""

from dataclasses import dataclass, replace

from turnkeeper.model.dialogue import Dialogue, IntentView


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question of an agent, what it had said before it, and the answer once there is one."""

    said: str
    question: str
    answer: str | None = None

    @property
    def shown(self) -> str:
        return f"{self.said}\n{self.question}" if self.said else self.question


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The asks of a run so far. A resumed agent starts again and finds the answers already there.

    `intent` and `dialogue` are what the run had understood and staged when the session stood at `revision`.
    """

    asks: tuple[Ask, ...]
    intent: IntentView | None = None
    dialogue: Dialogue | None = None
    revision: int = 0

    def __post_init__(self) -> None:
        if not self.asks:
            raise ValueError("a Checkpoint of a waiting run holds at least its question")
        if any(ask.answer is None for ask in self.asks[:-1]):
            raise ValueError("only the last question of a Checkpoint may be open")

    def answered(self, answer: str) -> "Checkpoint":
        return replace(self, asks=(*self.asks[:-1], replace(self.asks[-1], answer=answer)))
