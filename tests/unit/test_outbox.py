"""How long a reply waits for its next attempt, and what becomes of it after each."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from turnkeeper.ledger.outbox import OutboxRules
from turnkeeper.model.ids import BindingId, DeliveryId, RunId, SessionId, TenantId
from turnkeeper.model.outbound import Delivery, DeliveryStatus, ReplyTo
from turnkeeper.ports.sender import Attempt, Sent
from turnkeeper.testing.clock import NOON

LETTER = Delivery(
    tenant=TenantId("acme"),
    id=DeliveryId("dlv_1"),
    session_id=SessionId("sess_1"),
    run_id=RunId("run_1"),
    to=ReplyTo(binding=BindingId("bind_1"), channel="sms", address="+1"),
    text="Hello",
    created_at=NOON,
    due_at=NOON,
    attempts=1,
)


def pauses(rules: OutboxRules, attempts: Sequence[int]) -> list[float]:
    return [rules.pause_after(attempt).total_seconds() for attempt in attempts]


def test_each_pause_is_twice_as_long_as_the_one_before_up_to_the_most() -> None:
    assert pauses(OutboxRules(), range(1, 8)) == [5, 10, 20, 40, 80, 160, 320]
    assert pauses(OutboxRules(attempts=100_000), [10, 11, 50, 10_000]) == [2560, 3600, 3600, 3600]


def test_what_is_sent_again_by_hand_begins_a_new_round() -> None:
    assert pauses(OutboxRules(attempts=3), range(1, 7)) == [5, 10, 20, 5, 10, 20]


@pytest.mark.parametrize(
    ("asked", "seconds"), [(None, 5), (60.0, 60), (1.0, 5), (1e9, 3600), (-5.0, 5), (float("inf"), 3600)]
)
def test_what_the_other_side_asks_for_is_heard_within_bounds(asked: float | None, seconds: float) -> None:
    attempt = Attempt(sent=Sent.NOT_YET, detail="later", wait_seconds=asked)

    after = outcome(attempt)

    assert (after.status, after.error) == (DeliveryStatus.PENDING, "later")
    assert after.due_at - NOON == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("sent", "may_repeat", "attempts", "status"),
    [
        (Sent.DONE, False, 1, "sent"),
        (Sent.REFUSED, True, 1, "failed"),
        (Sent.NOT_YET, False, 7, "pending"),
        (Sent.NOT_YET, False, 8, "failed"),
        (Sent.NOT_YET, False, 9, "pending"),
        (Sent.NOT_YET, False, 16, "failed"),
        (Sent.UNSURE, False, 1, "unknown"),
        (Sent.UNSURE, True, 7, "pending"),
        (Sent.UNSURE, True, 8, "unknown"),
    ],
)
def test_what_becomes_of_a_reply_after_an_attempt(sent: Sent, may_repeat: bool, attempts: int, status: str) -> None:
    after = outcome(Attempt(sent=sent, detail="so"), may_repeat=may_repeat, attempts=attempts)

    assert after.status == status
    assert (after.ended_at is None) == (status == "pending")


def outcome(attempt: Attempt, *, may_repeat: bool = False, attempts: int = 1) -> Delivery:
    return OutboxRules().after(attempt, replace(LETTER, attempts=attempts), NOON, may_repeat=may_repeat)
