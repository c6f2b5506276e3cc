"""What is sent again, when, and what never is."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from turnkeeper import errors
from turnkeeper.client import Retries, Turnkeeper
from turnkeeper.client.problems import error_of
from turnkeeper.errors import TurnkeeperError

OK = {"session_id": "s", "run_id": "r", "text": "hi", "status": "completed", "created": True, "warnings": []}
BASE = {
    "id": "kb",
    "name": "n",
    "parent_id": None,
    "revision": 0,
    "sources": 0,
    "units": 0,
    "created_by": "u",
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z",
}
ARTIFACT = {
    "id": "a",
    "sha256": "0",
    "media_type": "text/plain",
    "name": None,
    "size": 7,
    "created_by": "u",
    "created_at": "2026-01-01T00:00:00Z",
}
Outcome = httpx2.Response | Exception


def problem(code: str, status: int, *, retryable: bool, **facts: Any) -> httpx2.Response:
    said = {"type": "", "title": "t", "status": status, "detail": "d", "code": code, "retryable": retryable}
    return httpx2.Response(status, json={**said, "request_id": "req", "trace_id": "trace", **facts})


def busy(**facts: Any) -> httpx2.Response:
    return problem("store_unavailable", 503, retryable=True, **facts)


def lost() -> Exception:
    return httpx2.ReadError("cut")


@dataclass
class Line:
    """A server that answers what it is told to, one thing after the other, and a clock that moves when one waits."""

    outcomes: list[Outcome]
    asked: list[httpx2.Request] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    time: float = 0.0
    slow_seconds: float = 0.0
    """How long each answer takes."""

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        self.time += self.slow_seconds
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    def keeper(self, **rules: Any) -> Turnkeeper:
        retries = Retries(now=lambda: self.time, pause=self.pause, chance=lambda: 1.0, **rules)
        http = httpx2.AsyncClient(base_url="http://house", transport=httpx2.MockTransport(self))
        return Turnkeeper.open("http://house", retries=retries, http=http)

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("idempotency-key") for request in self.asked]


async def test_a_message_keeps_its_key_over_all_of_its_tries() -> None:
    line = Line([lost(), httpx2.ConnectError("no"), busy(), httpx2.Response(502), httpx2.Response(200, json=OK)])

    reply = await line.keeper().chat("hello")

    assert reply.text == "hi"
    assert len(line.keys) == 5
    assert len(set(line.keys)) == 1
    assert line.waits == [0.2, 0.4, 0.8, 1.6]
    assert {json.loads(request.content)["request_id"] for request in line.asked} == {line.keys[0]}


async def test_a_request_id_of_the_caller_is_the_key() -> None:
    line = Line([httpx2.Response(200, json=OK), httpx2.Response(200, json=OK)])

    await line.keeper().chat("hello", request_id="order-7")
    await line.keeper().chat("hello")

    assert line.keys[0] == "order-7"
    assert line.keys[1] not in (None, "order-7")


async def test_the_server_says_for_how_long_to_wait() -> None:
    refused = problem("rate_limited", 429, retryable=True, retry_after_ms=2_500)
    gateway = httpx2.Response(503, headers={"Retry-After": "3"})
    line = Line([refused, gateway, httpx2.Response(200, json=OK)])

    await line.keeper().chat("hello")

    assert line.waits == [2.7, 3.4]


@pytest.mark.parametrize(
    ("outcome", "tries"),
    [
        (lost, 1),  # it may have been done
        (lambda: httpx2.Response(503), 1),
        (busy, 1),
        (lambda: httpx2.ConnectError("no"), 2),  # it was not even sent
        (lambda: problem("rate_limited", 429, retryable=True), 2),  # it was not begun with
    ],
)
async def test_what_has_no_key_is_sent_again_only_when_it_was_not_done(
    outcome: Callable[[], Outcome], tries: int
) -> None:
    line = Line([outcome(), httpx2.Response(201, json=ARTIFACT)])

    with contextlib.suppress(TurnkeeperError):
        await line.keeper().artifacts.keep(b"Kitchen")

    assert len(line.asked) == tries
    assert line.keys == [None] * tries


async def test_reading_is_repeated_and_a_refusal_is_not() -> None:
    line = Line([lost(), httpx2.Response(200, json=BASE), problem("session_not_found", 404, retryable=False)])
    keeper = line.keeper()

    assert (await keeper.bases.get("kb")).name == "n"
    with pytest.raises(errors.SessionNotFound):
        await keeper.session("s")

    assert len(line.asked) == 3


async def test_it_is_given_up_after_so_many_tries_or_so_long() -> None:
    few, brief = Line([lost() for _ in range(9)]), Line([busy() for _ in range(9)])

    with pytest.raises(errors.ServerUnreachable) as unreachable:
        await few.keeper(tries=3).session("s")
    with pytest.raises(errors.StoreUnavailable):
        await brief.keeper(tries=9, seconds=1.0).session("s")

    assert len(few.asked) == 3
    assert "turnkeeper serve" in unreachable.value.detail
    assert (len(brief.asked), brief.waits) == (3, [0.2, 0.4])


@pytest.mark.parametrize("first", [lost, lambda: httpx2.Response(504)])
async def test_what_is_gone_when_it_is_removed_again_was_removed_by_the_first_try(
    first: Callable[[], Outcome],
) -> None:
    line = Line([first(), problem("binding_not_found", 404, retryable=False)])

    await line.keeper().bindings.remove("b")

    assert len(line.asked) == 2


async def test_how_long_an_answer_takes_is_no_reason_to_give_it_up() -> None:
    line = Line([lost(), httpx2.Response(200, json=OK)], slow_seconds=45.0)

    assert (await line.keeper().chat("hello")).text == "hi"


async def test_what_was_never_sent_has_removed_nothing() -> None:
    line = Line([httpx2.ConnectError("no"), problem("binding_not_found", 404, retryable=False)])

    with pytest.raises(errors.BindingNotFound):
        await line.keeper().bindings.remove("b")


RECEIPT = {
    "id": "rcpt_1",
    "kind": "session",
    "subject": "s",
    "reason": "asked",
    "sessions": ["s"],
    "stores": {"database": {"erased": {}, "changed": {}}, "content": {"files": 0}, "graphs": {"threads": 0}},
    "kept": [],
    "pseudonym": None,
    "erased_by": "u",
    "erased_at": "2026-01-01T00:00:00Z",
}


async def test_a_receipt_that_was_lost_is_found() -> None:
    other = {**RECEIPT, "id": "rcpt_2", "subject": "another"}
    found = httpx2.Response(200, json={"items": [other, RECEIPT], "next": None})
    line = Line([lost(), problem("session_not_found", 404, retryable=False), found])

    receipt = await line.keeper().erase_session("s")

    assert receipt.id == "rcpt_1"


@pytest.mark.parametrize(
    "answer",
    [
        lambda: problem("not_allowed", 403, retryable=False),
        lambda: httpx2.Response(200, json={"items": [RECEIPT], "next": None}),
    ],
)
async def test_without_its_receipt_what_was_erased_is_gone(answer: Callable[[], httpx2.Response]) -> None:
    line = Line([lost(), problem("user_not_found", 404, retryable=False), answer()])

    with pytest.raises(errors.UserNotFound):
        await line.keeper().erasure.user("ada")


async def test_what_has_a_key_is_believed_when_it_says_that_nothing_is_there() -> None:
    line = Line([lost(), problem("unit_not_found", 404, retryable=False)])

    with pytest.raises(errors.UnitNotFound):
        await line.keeper().units.forget("s", "u")


async def test_what_was_not_there_in_the_first_place_is_said() -> None:
    line = Line([problem("binding_not_found", 404, retryable=False)])

    with pytest.raises(errors.BindingNotFound):
        await line.keeper().bindings.remove("b")


async def test_who_is_cancelled_while_waiting_sends_nothing_more() -> None:
    line = Line([busy(), busy()])
    waiting = asyncio.Event()

    async def forever(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    keeper = Turnkeeper.open(
        "http://house",
        retries=Retries(pause=forever),
        http=httpx2.AsyncClient(base_url="http://house", transport=httpx2.MockTransport(line)),
    )
    asking = asyncio.create_task(keeper.chat("hello"))
    await waiting.wait()
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(line.asked) == 1


async def test_something_else_than_a_turnkeeper_is_named() -> None:
    line = Line([httpx2.Response(404, text="<html>")])

    with pytest.raises(errors.AnswerUnreadable, match="Check the address"):
        await line.keeper().session("s")


async def test_an_address_that_is_none_says_so() -> None:
    async with Turnkeeper.open("nowhere", retries=Retries(tries=1)) as keeper:
        with pytest.raises(errors.ServerUnreachable, match="not an address"):
            await keeper.session("s")


def test_every_error_comes_back_as_what_it_was() -> None:
    kinds = {
        kind
        for name in errors.__all__
        if isinstance(kind := getattr(errors, name), type)
        and issubclass(kind, TurnkeeperError)
        and "code" in vars(kind)
    }

    for kind in kinds - {errors.TurnkeeperError, errors.OverBudget}:
        document = json.loads(problem(kind.code, kind.http_status, retryable=True, retry_after_ms=5, why="x").content)
        error = error_of({**document, "stage": "intake", "details": [{"pointer": "/a", "message": "b"}]})
        assert type(error) is kind
        assert (error.code, error.http_status, error.detail, str(error)) == (kind.code, kind.http_status, "d", "d")
        assert (error.retryable, error.retry_after_ms, error.facts) == (True, 5, {"why": "x"})
        assert (error.request_id, error.trace_id, error.stage) == ("req", "trace", "intake")
        assert error.details == ({"pointer": "/a", "message": "b"},)


def test_an_error_of_a_newer_server_is_still_an_error() -> None:
    error = error_of(json.loads(problem("quite_new", 409, retryable=False).content))

    assert (type(error), error.code, error.http_status) == (TurnkeeperError, "quite_new", 409)
