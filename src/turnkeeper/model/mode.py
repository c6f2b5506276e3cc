"""How the caller of a run wants to be answered."""

from enum import StrEnum


class Mode(StrEnum):
    """A `long_running` run outlives its caller's patience and its node: it leaves a Checkpoint after every verdict."""

    STREAM = "stream"
    BATCH = "batch"
    LONG_RUNNING = "long_running"
