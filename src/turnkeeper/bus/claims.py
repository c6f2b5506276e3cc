"""Which of several orchestrators on one bus takes an utterance, so that exactly one of them answers.

A bus gives everybody the same frames in the same order. Whoever joins says hello, and from that frame on all of them
count alike how often the same was said: the hello, what was said and the number name one utterance. The first claim
for it on the bus has it. The session
`default` lives in one process alone, so only its owner's claims for it are good. Who owns it is settled the same way,
in terms that only rise: an utterance that its owner leaves lying makes another one bid for the next term.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from turnkeeper.bus.carrier import DEFAULT, is_default
from turnkeeper.bus.message import Message
from turnkeeper.bus.topics import CLAIM, HELLO, OWN_DEFAULT

log = logging.getLogger(__name__)

MOST_WAITING = 50_000
MOST_AHEAD = 86_400_000
"""No clock is more than a day ahead of another; a term that is was made up."""

MOST_COUNTED = 4096

Place = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """An utterance that came in and has no taker yet."""

    message: Message
    is_for_owner: bool


class Cancellable(Protocol):
    def cancel(self) -> None: ...


def _on_the_loop(seconds: float, call: Callable[[], None]) -> Cancellable:
    return asyncio.get_running_loop().call_later(seconds, call)


class Claims:
    """`won` is called with the utterance and the id that it has from now on; `owned_by`
    when `default` has another owner, or nobody knows which."""

    def __init__(
        self,
        me: str,
        *,
        send: Callable[[Message], None],
        won: Callable[[Message, str], None],
        owned_by: Callable[[str | None], None],
        new_id: Callable[[], str],
        now: Callable[[], float],
        patience: float,
        later: Callable[[float, Callable[[], None]], "Cancellable"] | None = None,
    ) -> None:
        self._me, self._send, self._won, self._owned_by, self._new_id = me, send, won, owned_by, new_id
        self._now, self._patience, self._later = now, patience, later or _on_the_loop
        self._generation: str | None = None
        self._hello: str | None = None
        self._is_first, self._is_leaving, self._was_owner = False, False, False
        self._mine: set[Place] = set()
        self._all_settled = asyncio.Event()
        self._all_settled.set()
        self._counts: dict[str, int] = {}
        self._waiting: dict[Place, Entered] = {}
        self._owner: str | None = None
        self._term = 0
        self._timer: Cancellable | None = None

    @property
    def owns_default(self) -> bool:
        return self._owner == self._me

    @property
    def is_settled(self) -> bool:
        """Whether utterances are counted with the others by now, and `default` has an owner."""
        return self._generation is not None and self._owner is not None

    def opened(self, *, is_first: bool = False) -> None:
        """There is a bus, maybe another one than before: nothing that was known of it counts. Who is the first one
        there need not wait for others to say who owns `default`."""
        self.closed()
        self._is_first, self._is_leaving = is_first, False
        self._hello = self._new_id()
        self._say(HELLO, {"orchestrator": self._me, "hello": self._hello})

    def closed(self) -> None:
        self._was_owner = self.owns_default or (self._was_owner and self._owner is None)
        self._generation, self._hello = None, None
        self._waiting.clear()
        self._mine.clear()
        self._all_settled.set()
        self._own(None)
        self._stop_waiting()

    def heard(self, message: Message) -> bool:
        """Whether it was said between orchestrators, and for nobody else."""
        if message.type == HELLO:
            self._greeted(message.data)
        elif message.type == CLAIM:
            self._claimed(message.data)
        elif message.type == OWN_DEFAULT:
            self._taken_over(message.data)
        else:
            return False
        return True

    def leave(self) -> None:
        """Claim nothing more. What was claimed may still be won, and whoever owned `default` says that it does not."""
        self._is_leaving = True
        self._stop_waiting()
        if self.owns_default:
            self._say(OWN_DEFAULT, {"orchestrator": None, "term": self._term + 1})

    async def settled(self) -> None:
        """Return when it is known of every utterance that we claimed whose it is."""
        await self._all_settled.wait()

    def entered(self, message: Message, raw: Message) -> None:
        """An utterance has come in, `raw` as it was on the bus. What came before we joined is for who was there."""
        if self._generation is None or self._is_leaving:
            return
        place = (self._generation, *self._counted(raw))
        session = message.session
        # One whose carrier is malformed belongs to no session; anybody may say so.
        is_for_owner = session is None or (isinstance(session, dict) and is_default(session))
        entry = Entered(message=message, is_for_owner=is_for_owner)
        if len(self._waiting) >= MOST_WAITING:
            log.warning("utterance that nobody takes is forgotten", extra={"waiting": len(self._waiting)})
            self._forget(next(iter(self._waiting)))
        self._waiting[place] = entry
        if not entry.is_for_owner or self.owns_default:
            self._claim(place)
        elif self._timer is None:
            self._wait()

    def _counted(self, message: Message) -> tuple[str, int]:
        """What was said, and how often by now. All of them forget the same of it, since all of them heard the same."""
        said = json.dumps([message.data, message.context], sort_keys=True)
        print_ = hashlib.blake2b(said.encode(errors="surrogatepass"), digest_size=16).hexdigest()
        number = self._counts.pop(print_, 0) + 1
        self._counts[print_] = number
        if len(self._counts) > MOST_COUNTED:
            del self._counts[next(iter(self._counts))]
        return print_, number

    def _greeted(self, said: dict[str, Any]) -> None:
        hello, who = said.get("hello"), said.get("orchestrator")
        if not isinstance(hello, str) or not isinstance(who, str):
            return
        is_mine = hello == self._hello
        self._generation = hello
        self._counts.clear()
        if is_mine and self._is_first:
            self._bid()
        if is_mine:
            # Who owned it before comes first: it still has what the others would have to do without.
            self._wait(self._patience / 4 if self._was_owner else self._patience)
        elif self._owner is not None:
            self._say(OWN_DEFAULT, {"orchestrator": self._owner, "term": self._term})

    def _claim(self, place: Place) -> None:
        hello, said, number = place
        self._mine.add(place)
        self._all_settled.clear()
        claim = {"hello": hello, "said": said, "number": number}
        self._say(CLAIM, {**claim, "orchestrator": self._me, "utterance_id": self._new_id()})

    def _claimed(self, said: dict[str, Any]) -> None:
        hello, what, number = said.get("hello"), said.get("said"), said.get("number")
        who, utterance_id = said.get("orchestrator"), said.get("utterance_id")
        if not (isinstance(hello, str) and isinstance(what, str) and isinstance(number, int)):
            return
        entry = self._waiting.get((hello, what, number))
        if entry is None or not isinstance(utterance_id, str) or (entry.is_for_owner and who != self._owner):
            return
        self._forget((hello, what, number))
        if who == self._me:
            self._won(entry.message, utterance_id)

    def _forget(self, place: Place) -> None:
        del self._waiting[place]
        self._mine.discard(place)
        if not self._mine:
            self._all_settled.set()

    def _taken_over(self, said: dict[str, Any]) -> None:
        who, term = said.get("orchestrator"), said.get("term")
        if not (who is None or isinstance(who, str)) or not isinstance(term, int) or self._generation is None:
            return
        if not 0 < term <= int(self._now() * 1000) + MOST_AHEAD:
            return
        if term <= self._term and not (term == self._term and self._owner is None):
            return
        self._term = term
        self._own(who)
        if who is None and not self._is_leaving:
            self._wait()
        if not self.owns_default or self._is_leaving:
            return
        for place in [place for place, entry in self._waiting.items() if entry.is_for_owner]:
            self._claim(place)

    def _own(self, who: str | None) -> None:
        if who != self._owner:
            self._owner = who
            self._owned_by(who)

    def _wait(self, seconds: float | None = None) -> None:
        """Give whoever owns `default` the time to say so, or to take what is waiting."""
        self._stop_waiting()
        since = frozenset(self._waiting)
        self._timer = self._later(self._patience if seconds is None else seconds, lambda: self._waited(since))

    def _waited(self, since: frozenset[Place]) -> None:
        self._timer = None
        if self.owns_default or self._is_leaving:
            return
        left_lying = [place for place, entry in self._waiting.items() if entry.is_for_owner]
        if self._owner is None or any(place in since for place in left_lying):
            self._bid()
        elif not left_lying:
            return
        self._wait()

    def _bid(self) -> None:
        """By the clock, so that it is higher than the terms of others that one has never heard of."""
        term = max(self._term + 1, int(self._now() * 1000))
        self._say(OWN_DEFAULT, {"orchestrator": self._me, "term": term})

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _say(self, topic: str, data: dict[str, Any]) -> None:
        # It belongs to no session; old clients complain of a message without one.
        context = {"source": self._me, "session": {"session_id": DEFAULT}}
        self._send(Message(type=topic, data=data, context=context))
