"""How long what a session keeps may live, by the class of its data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from turnkeeper.model.pack import Classification

HOUR, DAY = 3_600, 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A session of this class ends when it was idle for so long, and however busy it is after so long.

    Its checkpoints go so long after it has ended, and all of it so long after that moment; None is never by itself.
    """

    idle_seconds: int
    absolute_seconds: int
    checkpoint_seconds: int
    keep_seconds: int | None = None

    def __post_init__(self) -> None:
        if self.idle_seconds < 1 or self.absolute_seconds < 1 or self.checkpoint_seconds < 0:
            raise ValueError("a Band lets a session live for at least a second")
        if self.keep_seconds is not None and self.keep_seconds < 0:
            raise ValueError("a Band keeps a session that is over for no less than no time")


BANDS: Mapping[Classification, Band] = {
    Classification.PUBLIC: Band(idle_seconds=30 * DAY, absolute_seconds=180 * DAY, checkpoint_seconds=30 * DAY),
    Classification.INTERNAL: Band(idle_seconds=7 * DAY, absolute_seconds=90 * DAY, checkpoint_seconds=7 * DAY),
    Classification.CONFIDENTIAL: Band(idle_seconds=DAY, absolute_seconds=30 * DAY, checkpoint_seconds=DAY),
    Classification.RESTRICTED: Band(idle_seconds=HOUR, absolute_seconds=DAY, checkpoint_seconds=0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """What the class of its packs means for a session that begins with them, or is pinned to them."""

    classification: Classification
    most_idle_seconds: int
    expires_by: datetime


def lifetime(
    created_at: datetime, classes: Iterable[Classification], bands: Mapping[Classification, Band]
) -> Lifetime | None:
    """None without packs: nothing is known that would shorten the life of the session."""
    highest = max(classes, key=lambda each: _ORDER[each], default=None)
    if highest is None:
        return None
    band = bands[highest]
    return Lifetime(
        classification=highest,
        most_idle_seconds=band.idle_seconds,
        expires_by=created_at + timedelta(seconds=band.absolute_seconds),
    )


_ORDER = {each: place for place, each in enumerate(Classification)}
