"""Attachments arrive as they were sent: all of them, unchanged, in their order."""

from dataclasses import replace

import pytest

from tests.unit.channels.arriving import an_attachment
from turnkeeper.channels.conserving import check_conserved, evidence_coverage
from turnkeeper.errors import NormalizationFailed
from turnkeeper.model.event import Attachment, Event
from turnkeeper.ports.channels import Said

ONE, TWO = an_attachment(1), an_attachment(2)
CHANGED = replace(ONE, sha256="0" * 64)


@pytest.mark.parametrize("attached", [(), (ONE,), (ONE, TWO), (ONE, ONE)])
def test_what_is_the_same_is_conserved(attached: tuple[Attachment, ...]) -> None:
    check_conserved(Event(text="hi", attachments=attached), Said(message="hi", attachments=attached))

    assert evidence_coverage(attached, attached).is_complete


@pytest.mark.parametrize(
    ("arrived", "sent", "fates"),
    [
        ((), (ONE,), {"art_1": "is missing"}),
        ((ONE,), (ONE, ONE), {"art_1": "is missing"}),
        ((CHANGED,), (ONE,), {"art_1": "has another hash"}),
        ((ONE, TWO), (ONE,), {"art_2": "was not sent"}),
        ((TWO, ONE), (ONE, TWO), {None: "are in another order"}),
    ],
)
def test_what_differs_is_named(
    arrived: tuple[Attachment, ...], sent: tuple[Attachment, ...], fates: dict[str | None, str]
) -> None:
    with pytest.raises(NormalizationFailed) as failed:
        check_conserved(Event(text="hi", attachments=arrived), Said(message="hi", attachments=sent))

    assert {fault.get("artifact_id"): fault["message"] for fault in failed.value.details} == fates


def test_the_report_tells_missing_changed_and_added_apart() -> None:
    three = an_attachment(3)

    report = evidence_coverage([CHANGED, three], [ONE, TWO])

    assert (report.missing, report.changed, report.added) == (("art_2",), ("art_1",), ("art_3",))
    assert not report.is_complete
