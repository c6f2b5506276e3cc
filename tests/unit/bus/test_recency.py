"""Which skill is the most recent one, and which one waits for an answer."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ovos_spec_tools import session as reference  # type: ignore[import-untyped]

from tests.scale import rounds
from tests.unit.bus.carriers import SESSIONS, SKILL, TIMES
from turnkeeper.bus import carrier, recency


@given(session=SESSIONS, skill=SKILL, now=TIMES, ttl=st.integers(0, 100))
@settings(max_examples=rounds(50, 1000))
def test_recency_is_what_the_reference_says_it_is(session: dict[str, Any], skill: str, now: int, ttl: int) -> None:
    session = {**carrier.fields_of(session), "session_id": "s"}
    as_it_was = copy.deepcopy(session)

    assert recency.activated(session, skill, now)["active_handlers"] == theirs(session, "active", skill, now)
    assert recency.stamped(session, skill, now)["converse_handlers"] == theirs(session, "converse", skill, now)
    left = recency.deactivated(session, skill)["active_handlers"]
    assert skill not in [each["skill_id"] for each in left]
    kept = [each["skill_id"] for each in recency.conversing(recency.pruned_converse(session, ttl, now))]
    # The reference forgets that who waits for an answer stays.
    waiting = recency.holder(session, now)
    assert [each for each in kept if each != waiting] == [
        each for each in pruned_by_reference(session, ttl, now) if each != waiting
    ]
    assert waiting is None or waiting in kept
    assert session == as_it_was


def theirs(session: dict[str, Any], kind: str, skill: str, now: int) -> Any:
    other = reference.Session.from_dict(copy.deepcopy(session))
    getattr(other, f"add_{kind}_handler")(skill, now)
    return getattr(other, f"{kind}_handlers")


def pruned_by_reference(session: dict[str, Any], ttl: int, now: int) -> list[str]:
    other = reference.Session.from_dict(copy.deepcopy(session))
    other.prune_converse_handlers(ttl, now)
    return [each["skill_id"] for each in other.converse_handlers]


def handlers(*skills: str) -> list[dict[str, Any]]:
    return [{"skill_id": skill, "activated_at": 100 - place} for place, skill in enumerate(skills)]


def skills_of(session: dict[str, Any]) -> list[str]:
    return [each["skill_id"] for each in session["converse_handlers"]]


def test_when_there_are_too_many_the_oldest_goes_that_does_not_wait_for_an_answer() -> None:
    session = {
        "converse_handlers": handlers("a", "b", "c"),
        "response_mode": {"skill_id": "c", "expires_at": 500},
    }

    assert skills_of(recency.stamped(session, "new", 200, most=3)) == ["new", "a", "c"]
    assert skills_of(recency.stamped(session, "new", 500, most=3)) == ["new", "a", "b"]
    assert skills_of(recency.stamped(session, "new", 200, most=1)) == ["new", "c"]


def test_who_waits_must_converse_and_have_time_left() -> None:
    waiting = {"skill_id": "c", "expires_at": 500}

    assert recency.holder({"converse_handlers": handlers("c"), "response_mode": waiting}, 499) == "c"
    assert recency.holder({"converse_handlers": handlers("c"), "response_mode": waiting}, 500) is None
    assert recency.holder({"converse_handlers": handlers("a"), "response_mode": waiting}, 499) is None
    assert recency.holder({"converse_handlers": handlers("c")}, 499) is None


def test_of_two_at_once_the_one_nearer_the_head_is_newer() -> None:
    assert recency.newest([{"skill_id": "a", "activated_at": 1}, {"skill_id": "b", "activated_at": 2.5}]) == "b"
    assert recency.newest([{"skill_id": "a", "activated_at": 2}, {"skill_id": "b", "activated_at": 2}]) == "a"
    assert recency.newest([]) is None


def test_only_what_is_asked_for_is_written() -> None:
    assert recency.pruned_converse({"lang": "nl"}, 300, 0) == {"lang": "nl"}
    assert recency.not_conversing({"lang": "nl"}, ["a"]) == {"lang": "nl"}
