"""Whether a turn keeps its intent, and whether the lock on it still stands.

The order is: a lock that nothing is missing for is released; a yes or a no that was asked for stays with the form; a
force signal resolves; a correction of the form stays with it; a sticky intent stays; a locked one stays; everything
else is resolved.
"""

from dataclasses import dataclass
from enum import StrEnum

from turnkeeper.intent.signals import ForceSignal
from turnkeeper.model.stages import StageName


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """`policy` says that the user answers a pending confirmation or drops the form, `corrects` that it is changed."""

    is_locked: bool
    has_schema: bool
    is_complete: bool
    is_resolved: bool
    sticky: bool
    signal: ForceSignal | None = None
    policy: bool = False
    corrects: bool = False

    @property
    def is_collecting(self) -> bool:
        return self.has_schema and not self.is_complete


class ReleaseReason(StrEnum):
    SCHEMA_COMPLETE = "SCHEMA_COMPLETE"
    SCHEMA_ABSENT = "SCHEMA_ABSENT"
    INTENT_SWITCHED = "INTENT_SWITCHED"
    DROPPED = "DROPPED"
    RESET = "RESET"


class Course(StrEnum):
    RESOLVE = "resolve"
    RESOLVE_FORCED = "resolve_forced"
    SKIP_STICKY = "skip_sticky"
    SKIP_COLLECTION = "skip_collection"
    SKIP_POLICY = "skip_policy"

    @property
    def resolves(self) -> bool:
        return self in (Course.RESOLVE, Course.RESOLVE_FORCED)

    @property
    def stage(self) -> StageName:
        """What is told of it. A plain resolution has begun with INTENT_RESOLVE_START, which every turn tells."""
        return _STAGES.get(self, StageName.INTENT_RESOLVE_START)


_STAGES = {
    Course.RESOLVE_FORCED: StageName.INTENT_RESOLVE_FORCED,
    Course.SKIP_STICKY: StageName.INTENT_RESOLVE_SKIPPED_STICKY_INTENT,
    Course.SKIP_COLLECTION: StageName.INTENT_RESOLVE_SKIPPED_SCHEMA_COLLECTION,
    Course.SKIP_POLICY: StageName.INTENT_RESOLVE_SKIPPED_POLICY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`release` is why the lock that was there must go now, whatever the resolver says; None when it may stay."""

    course: Course
    release: ReleaseReason | None = None


def decide(holding: Holding) -> Decision:
    return Decision(course=_course(holding), release=_release(holding))


def _release(holding: Holding) -> ReleaseReason | None:
    if not holding.is_locked or holding.is_collecting:
        return None
    return ReleaseReason.SCHEMA_COMPLETE if holding.has_schema else ReleaseReason.SCHEMA_ABSENT


def _course(holding: Holding) -> Course:
    if holding.policy and holding.is_resolved:
        return Course.SKIP_POLICY
    if holding.signal is not None:
        return Course.RESOLVE_FORCED
    if holding.corrects and holding.is_resolved:
        return Course.SKIP_POLICY
    if holding.sticky and holding.is_collecting and holding.is_resolved:
        return Course.SKIP_STICKY
    if holding.is_locked and holding.is_collecting:
        return Course.SKIP_COLLECTION
    return Course.RESOLVE
