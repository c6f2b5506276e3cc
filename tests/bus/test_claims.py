"""However slow, late or mortal the orchestrators on a bus are, an utterance has one taker."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.scale import rounds
from turnkeeper.bus.claims import Claims
from turnkeeper.bus.message import Message
from turnkeeper.bus.topics import OWN_DEFAULT, UTTERANCE

CLOCK = itertools.count(1.0)


@dataclass
class Timer:
    call: Callable[[], None]
    is_on: bool = True

    def cancel(self) -> None:
        self.is_on = False


@dataclass
class Orchestrator:
    """One that hears the bus at its own pace: it has heard the log up to `place`, and what it said waits to be sent."""

    name: str
    place: int
    won: list[tuple[str, str]]
    unsent: list[Message] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    owns: str | None = None

    def __post_init__(self) -> None:
        ids = iter(range(1_000_000))
        self.claims = Claims(
            self.name,
            send=self.unsent.append,
            won=lambda message, id: self.won.append((message.data["name"], self.name)),
            owned_by=self._owned_by,
            new_id=lambda: f"{self.name}-{next(ids)}",
            now=lambda: next(CLOCK),
            patience=1.0,
            later=self._later,
        )
        self.claims.opened()

    def _owned_by(self, who: str | None) -> None:
        self.owns = who

    def _later(self, seconds: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(call))
        return self.timers[-1]

    def hear(self, message: Message) -> None:
        self.place += 1
        if not self.claims.heard(message):
            self.claims.entered(message, message)

    def wait(self) -> None:
        """Its patience runs out."""
        due, self.timers = [each for each in self.timers if each.is_on], []
        for timer in due:
            timer.call()


class Log:
    """What was said on a bus, in its one order."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.won: list[tuple[str, str]] = []

    def joins(self, name: str) -> Orchestrator:
        return Orchestrator(name, len(self.messages), self.won)

    def says(self, name: str, session: dict[str, Any]) -> None:
        self.messages.append(Message(type=UTTERANCE, data={"name": name}, context={"session": session}))

    def hears(self, *those: Orchestrator) -> None:
        """Each of these hears and says all there is to be heard and said, until nothing is left."""
        while any(each.unsent or each.place < len(self.messages) for each in those):
            for each in those:
                self.sends(each)
                for message in self.messages[each.place :]:
                    each.hear(message)

    def sends(self, each: Orchestrator) -> None:
        self.messages.extend(each.unsent)
        each.unsent.clear()


def two() -> tuple[Log, Orchestrator, Orchestrator]:
    """Two that have joined; the first one owns `default`."""
    log = Log()
    one = log.joins("one")
    log.hears(one)
    one.wait()
    log.hears(one)
    other = log.joins("other")
    log.hears(one, other)
    other.wait()
    log.hears(one, other)
    assert (one.owns, other.owns) == ("one", "one")
    return log, one, other


def test_one_of_two_takes_a_named_utterance_and_the_owner_what_is_for_the_device() -> None:
    log, one, other = two()
    log.says("named", {"session_id": "n1"})
    log.says("device", {})
    log.hears(other, one)

    assert log.won == [("named", "other"), ("device", "one")]


def test_what_a_dead_owner_left_lying_is_taken_by_another_one() -> None:
    log, _, other = two()
    log.says("device", {})
    log.hears(other)
    assert log.won == []

    other.wait()
    log.hears(other)

    assert other.owns == "other"
    assert log.won == [("device", "other")]


def test_the_claim_of_an_owner_who_was_only_slow_comes_too_late() -> None:
    log, one, other = two()
    log.says("device", {})
    for message in log.messages[one.place :]:
        one.hear(message)
    log.hears(other)
    other.wait()
    log.sends(other)
    # Now the claim of the first one reaches the bus, behind the bid of the other.
    log.hears(one, other)

    assert (one.owns, other.owns) == ("other", "other")
    assert log.won == [("device", "other")]


def test_a_newcomer_takes_nothing_that_came_before_it_and_hears_who_owns() -> None:
    log, one, other = two()
    third = log.joins("third")
    log.says("early", {"session_id": "n1"})
    log.hears(third, one, other)
    log.says("late", {})
    log.hears(third, other, one)

    assert third.owns == "one"
    assert log.won == [("early", "one"), ("late", "one")] or log.won == [("early", "other"), ("late", "one")]


def test_an_old_word_about_the_owner_does_not_count_against_a_newer_one() -> None:
    log, one, other = two()
    stale = next(each for each in log.messages if each.type == OWN_DEFAULT)
    log.says("device", {})
    log.hears(other)
    other.wait()
    log.hears(other, one)
    log.messages.append(stale)
    log.says("next", {})
    log.hears(one, other)

    assert (one.owns, other.owns) == ("other", "other")
    assert log.won == [("device", "other"), ("next", "other")]


def test_who_lost_its_bus_owns_nothing_until_it_has_heard_from_the_others() -> None:
    log, one, other = two()
    one.claims.opened()
    assert not one.claims.is_settled
    log.hears(one, other)
    assert (one.owns, other.owns) == ("one", "one")


class Bus(RuleBasedStateMachine):
    """Everybody hears the same log, each at its own pace, and may be gone at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Message] = []
        self.orchestrators: list[Orchestrator] = []
        self.won: list[tuple[str, str]] = []
        self.names = 0
        self.said = 0

    @precondition(lambda self: len(self.orchestrators) < 4)
    @rule()
    def join(self) -> None:
        self.names += 1
        self.orchestrators.append(Orchestrator(f"o{self.names}", len(self.log), self.won))

    @rule(default=st.booleans())
    def say(self, default: bool) -> None:
        self.said += 1
        session: dict[str, Any] = {} if default else {"session_id": f"n{self.said}"}
        name = f"{'default' if default else 'named'}-{self.said}"
        self.log.append(Message(type=UTTERANCE, data={"name": name}, context={"session": session}))

    @precondition(lambda self: self.orchestrators)
    @rule(data=st.data(), count=st.integers(1, 5))
    def hear(self, data: st.DataObject, count: int) -> None:
        each = data.draw(st.sampled_from(self.orchestrators))
        for message in self.log[each.place : each.place + count]:
            each.hear(message)

    @precondition(lambda self: self.orchestrators)
    @rule(data=st.data(), count=st.integers(1, 5))
    def send(self, data: st.DataObject, count: int) -> None:
        each = data.draw(st.sampled_from(self.orchestrators))
        self.log.extend(each.unsent[:count])
        del each.unsent[:count]

    @precondition(lambda self: self.orchestrators)
    @rule(data=st.data())
    def lose_patience(self, data: st.DataObject) -> None:
        """Even while others are only slow, and not dead."""
        data.draw(st.sampled_from(self.orchestrators)).wait()

    @precondition(lambda self: len(self.orchestrators) > 1)
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        self.orchestrators.remove(data.draw(st.sampled_from(self.orchestrators)))

    def quiet(self) -> None:
        while any(each.unsent or each.place < len(self.log) for each in self.orchestrators):
            for each in self.orchestrators:
                self.log.extend(each.unsent)
                each.unsent.clear()
                for message in self.log[each.place :]:
                    each.hear(message)

    @invariant()
    def nothing_has_two_takers(self) -> None:
        names = [name for name, _ in self.won]
        assert len(names) == len(set(names)), self.won

    def teardown(self) -> None:
        """In the end they agree on an owner, and what is said then is taken by one of them."""
        if not self.orchestrators:
            return
        for _ in range(4):
            self.quiet()
            for each in self.orchestrators:
                each.wait()
                self.quiet()
        assert len({each.owns for each in self.orchestrators}) == 1
        before = len(self.won)
        self.say(default=True)
        self.say(default=False)
        for _ in range(3):
            self.quiet()
            for each in self.orchestrators:
                each.wait()
                self.quiet()
        assert len(self.won) == before + 2
        self.nothing_has_two_takers()


Bus.TestCase.settings = settings(max_examples=rounds(60, 2_000), stateful_step_count=rounds(40, 80), deadline=None)
TestBus = Bus.TestCase
