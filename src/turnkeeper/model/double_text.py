"""What becomes of a message that arrives while another one is being answered."""

from enum import StrEnum


class DoubleText(StrEnum):
    ENQUEUE = "enqueue"
    REJECT = "reject"
    ROLLBACK = "rollback"
    INTERRUPT = "interrupt"
    MERGE = "merge"

    @property
    def stops_the_running_run(self) -> bool:
        return self in (DoubleText.ROLLBACK, DoubleText.INTERRUPT, DoubleText.MERGE)
