"""What was attached arrives: nothing is lost, changed or added between what was said and its Event."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from turnkeeper.errors import NormalizationFailed
from turnkeeper.model.event import Attachment, Event
from turnkeeper.ports.channels import Said


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceCoverage:
    """By artifact id: what is missing, what has another hash than was sent, and what nobody sent."""

    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return not (self.missing or self.changed or self.added)


def evidence_coverage(arrived: Iterable[Attachment], sent: Iterable[Attachment]) -> EvidenceCoverage:
    """How what arrived covers what was sent; neither order nor repetition is forgiven by count alone."""
    have, want = Counter(map(_evidence, arrived)), Counter(map(_evidence, sent))
    lost = Counter(artifact for artifact, _ in (want - have).elements())
    extra = Counter(artifact for artifact, _ in (have - want).elements())
    changed = lost & extra
    return EvidenceCoverage(
        missing=tuple((lost - changed).elements()),
        changed=tuple(changed.elements()),
        added=tuple((extra - changed).elements()),
    )


def check_conserved(event: Event, said: Said) -> None:
    """Raises NormalizationFailed when the Event has other attachments than were said, or has them in another order."""
    if tuple(map(_evidence, event.attachments)) == tuple(map(_evidence, said.attachments)):
        return
    coverage = evidence_coverage(event.attachments, said.attachments)
    faults = [
        {"pointer": "/attachments", "artifact_id": artifact, "message": fate}
        for fate, artifacts in (
            ("is missing", coverage.missing),
            ("has another hash", coverage.changed),
            ("was not sent", coverage.added),
        )
        for artifact in artifacts
    ]
    raise NormalizationFailed(
        "The channel did not keep the attachments as they were sent. Its adapter must be mended; nothing was run.",
        details=faults or [{"pointer": "/attachments", "message": "are in another order"}],
    )


def _evidence(attachment: Attachment) -> tuple[str, str]:
    return attachment.artifact_id, attachment.sha256
