"""What time it is, and names that sort by it."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, aware and in UTC."""

    def new_id(self, prefix: str) -> str:
        """A sortable id with at least 74 random bits: `run_01J...`."""
