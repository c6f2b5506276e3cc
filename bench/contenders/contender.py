"""What every contender can be asked to do."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from bench.work import Place

Said = tuple[str, str]
"""Who said it (`user` or `assistant`), and the text."""


class Contender(ABC):
    """Keeps sessions. A turn loads the newest 20 messages and the state, and adds two messages and a new state.

    A contender whose calls hold the calling thread is `blocking`: many sessions at once take a thread each. One that
    must do something before a turn that is not measured does it in `prepare`.
    """

    blocking = False
    prepares = False

    def load(self) -> None:
        """Import what is imported late, so that it is not measured as part of anything."""
        return

    @abstractmethod
    async def open(self, place: Place) -> None: ...

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def create(self) -> str:
        """A new session that would survive a power cut; gives its id."""

    async def prepare(self, session: str, said: str) -> None:
        """What the next turn needs beforehand."""
        raise NotImplementedError

    @abstractmethod
    async def turn(self, session: str, said: str) -> None:
        """Returns once the turn is durable."""

    @abstractmethod
    async def newest(self, session: str) -> Sequence[str]:
        """The texts of the newest 20 messages, oldest first."""

    @abstractmethod
    async def messages(self, session: str) -> Sequence[Said]:
        """All that was said, in order."""

    @abstractmethod
    async def counter(self, session: str) -> int | None:
        """The counter in the session's state; None if the contender keeps no state."""


class BlockingContender(Contender):
    """One whose calls hold the calling thread."""

    blocking = True

    @abstractmethod
    def turn_now(self, session: str, said: str) -> None: ...

    async def turn(self, session: str, said: str) -> None:
        self.turn_now(session, said)
