"""The session that a round works on, and what may be done to it while the round is on.

A named session is the round's own and gone with it. `default` is the device's: every round works on the same one, and
whatever one of them changes the others see at once.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from turnkeeper.bus import carrier
from turnkeeper.bus.message import copied

Session = dict[str, Any]


class Device(Protocol):
    """The memory of the process that owns `default`."""

    def read(self) -> Session:
        """A copy of what there is."""

    def write(self, fields: Mapping[str, Any]) -> None:
        """Have this, and nothing else."""

    async def keep(self) -> None:
        """Make it outlive the process, where that is wanted."""


class Working:
    """`id` is the session's; every change is one step that nothing else comes between."""

    def __init__(
        self,
        id: str,
        read: Callable[[], Session],
        write: Callable[[Session], None],
        keep: Callable[[], Awaitable[None]],
    ) -> None:
        self.id, self._read, self._write, self.keep = id, read, write, keep

    def read(self) -> Session:
        """A copy, with the id: what a message carries now."""
        return {**copied(self._read()), "session_id": self.id}

    def change(self, changed: Callable[[Session], Session]) -> None:
        self._write(changed(self.read()))

    def merge(self, brought: Mapping[str, Any]) -> None:
        """What somebody says about some fields."""
        self.change(lambda session: carrier.merged(session, brought))

    def replace(self, base: Mapping[str, Any], snapshot: Mapping[str, Any]) -> None:
        """What somebody made of the whole of it, who had it as `base`."""
        self.change(lambda session: carrier.replaced(session, base, snapshot))


def named(session: Session) -> Working:
    """A session that its client keeps; nobody has it but this round."""
    held = [session]

    def write(fields: Session) -> None:
        held[0] = fields

    return Working(carrier.session_id_of(session), lambda: held[0], write, _not_ours_to_keep)


def of_device(device: Device) -> Working:
    return Working(carrier.DEFAULT, device.read, device.write, device.keep)


async def _not_ours_to_keep() -> None:
    """Its client keeps it."""
