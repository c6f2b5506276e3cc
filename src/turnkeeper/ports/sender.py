"""How a reply leaves the house: one sender for each way out."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from turnkeeper.model.binding import Binding
from turnkeeper.model.outbound import Delivery


class Sent(StrEnum):
    """How one attempt came out. `not_yet`: nothing was handed over; `unsure`: it may have been taken, or not."""

    DONE = "done"
    REFUSED = "refused"
    NOT_YET = "not_yet"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """`detail` tells an operator why, without the words of a user. `wait_seconds` is what the other side asks for."""

    sent: Sent
    detail: str = ""
    wait_seconds: float | None = None


class Sender(Protocol):
    @property
    def may_repeat(self) -> bool:
        """Whether the other side knows a delivery by its id, so that sending it twice does no harm."""

    async def send(self, delivery: Delivery, binding: Binding) -> Attempt:
        """Hand it over, once. Raises nothing that the outside world can cause."""
