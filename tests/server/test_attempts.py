"""Guessing tokens is limited."""

from pathlib import Path

import pytest

from tests.server.callers import a_house
from turnkeeper.errors import TooManyAttempts
from turnkeeper.server.attempts import MOST_ADDRESSES, Attempts

TOKEN = b"digest of a token"


class Watch:
    """A clock in seconds that stands still until it is told to move."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def guessed(attempts: Attempts, address: str, times: int) -> int:
    """How many guesses of so many were looked at."""
    looked_at = 0
    for _ in range(times):
        try:
            attempts.check(address, TOKEN)
        except TooManyAttempts:
            continue
        attempts.failed(address)
        looked_at += 1
    return looked_at


def test_an_address_may_guess_a_few_times_a_minute() -> None:
    watch = Watch()
    attempts = Attempts(5, now=watch)

    at_once = guessed(attempts, "192.0.2.1", 50)
    watch.now = 24.0
    later = guessed(attempts, "192.0.2.1", 50)

    assert (at_once, later) == (5, 2)


def test_it_is_told_when_the_next_guess_is_allowed() -> None:
    watch = Watch()
    attempts = Attempts(5, now=watch)
    guessed(attempts, "192.0.2.1", 5)

    with pytest.raises(TooManyAttempts) as refused:
        attempts.check("192.0.2.1", TOKEN)

    assert refused.value.retry_after_ms is not None
    watch.now = refused.value.retry_after_ms / 1000
    attempts.check("192.0.2.1", TOKEN)


def test_others_are_not_held_responsible() -> None:
    attempts = Attempts(5, now=Watch())
    guessed(attempts, "192.0.2.1", 50)

    attempts.check("192.0.2.2", TOKEN)


@pytest.mark.parametrize(
    ("one", "other"),
    [("2001:db8::1", "2001:db8::ffff:2"), ("::ffff:192.0.2.1", "192.0.2.1"), ("somewhere", "somewhere")],
)
def test_what_one_subscriber_has_counts_as_one_address(one: str, other: str) -> None:
    attempts = Attempts(5, now=Watch())
    guessed(attempts, one, 5)

    assert guessed(attempts, other, 5) == 0


def test_a_token_that_was_good_still_is_where_somebody_guesses() -> None:
    watch = Watch()
    attempts = Attempts(5, now=watch)
    attempts.succeeded(TOKEN)
    for _ in range(50):
        attempts.failed("192.0.2.1")

    attempts.check("192.0.2.1", TOKEN)
    with pytest.raises(TooManyAttempts):
        attempts.check("192.0.2.1", b"another")
    watch.now = 601.0
    for _ in range(50):
        attempts.failed("192.0.2.1")
    with pytest.raises(TooManyAttempts):
        attempts.check("192.0.2.1", TOKEN)


def test_guesses_from_everywhere_take_no_more_room() -> None:
    attempts = Attempts(5, now=Watch())

    for number in range(2 * MOST_ADDRESSES):
        attempts.failed(f"host-{number}")
        attempts.succeeded(str(number).encode())

    assert len(attempts._failures) <= MOST_ADDRESSES
    assert len(attempts._let_in) <= MOST_ADDRESSES


async def test_who_guesses_is_sent_away_before_a_token_is_looked_at(tmp_path: Path) -> None:
    async with a_house(tmp_path, failed_tokens=3) as house:
        guesses = [await house.with_token(f"guess-{number}")("GET", "/me") for number in range(5)]
        by_key = await house.with_token(f"tk_01ARZ3NDEKTSV4RRFFQ69G5FAV_{'0' * 40}_acme")("GET", "/me")
        by_cookie = house.with_token(None)
        by_cookie.client.cookies.set("turnkeeper-http", "tk_guess")
        by_login = await house.with_token(None)("POST", "/login", {"token": "guess-6"})
        elsewhere = await house.with_token("token-of-ben", address="192.0.2.8")("GET", "/me")

        codes = [each.json()["code"] for each in (*guesses, by_key, await by_cookie("GET", "/me"), by_login)]
        assert codes == ["unauthenticated"] * 3 + ["too_many_attempts"] * 5
        assert int(guesses[-1].headers["retry-after"]) > 0
        assert elsewhere.status_code == 200


async def test_no_token_at_all_is_no_guess(tmp_path: Path) -> None:
    async with a_house(tmp_path, failed_tokens=1) as house:
        for _ in range(5):
            await house.with_token(None)("GET", "/me")

        assert (await house.ben("GET", "/me")).status_code == 200
