"""How far a run may go in the world."""

from enum import StrEnum


class SafetyMode(StrEnum):
    """In rising risk. It comes from policy, never from a caller; what is not known counts as `read_only`."""

    READ_ONLY = "read_only"
    LOCAL_WRITE = "local_write"
    NETWORK = "network"
    DELEGATED = "delegated"
    DESTRUCTIVE = "destructive"

    @property
    def rank(self) -> int:
        return _ORDER[self]

    def allows(self, other: "SafetyMode") -> bool:
        """Whether something of the other risk may be done in this mode."""
        return other.rank <= self.rank


_ORDER = {mode: place for place, mode in enumerate(SafetyMode)}


def narrowest(first: SafetyMode, *others: SafetyMode | None) -> SafetyMode:
    """The least of them; None says nothing."""
    return min((first, *(mode for mode in others if mode is not None)), key=lambda mode: mode.rank)
