"""What a session would rather use: a model, plugins, and how hard to think."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LEVELS = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """`plugins` maps a kind of plugin to the id of the one to use; None and missing mean: whichever fits."""

    model: str | None = None
    plugins: Mapping[str, str] = field(default_factory=dict)
    level: int | None = None

    def __post_init__(self) -> None:
        if self.level is not None and self.level not in LEVELS:
            raise ValueError("the deliberation level lies between 0 and 3")

    @property
    def is_empty(self) -> bool:
        return self.model is None and not self.plugins and self.level is None
