"""What stands between the socket and the orchestrator: it may say the same in other words."""

from collections.abc import Sequence
from typing import Protocol

from turnkeeper.bus.message import Message


class Wire(Protocol):
    def inbound(self, message: Message) -> Message | None:
        """The message as the specifications would have it; None is one that is not for us."""

    def outbound(self, message: Message) -> Sequence[Message]:
        """What goes over the wire for it, in this order."""

    def stages(self, entry: str) -> Sequence[str]:
        """What an entry of a pipeline is called here; it may stand for several stages, or for none by design."""


class PlainWire:
    """Everybody speaks as the specifications do."""

    def inbound(self, message: Message) -> Message | None:
        return message

    def outbound(self, message: Message) -> Sequence[Message]:
        return (message,)

    def stages(self, entry: str) -> Sequence[str]:
        return (entry,)
