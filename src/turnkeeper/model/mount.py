"""A resource that a session may use."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class MountKind(StrEnum):
    KNOWLEDGE_BASE = "knowledge_base"
    PACK = "pack"
    POINTER = "pointer"
    ARTIFACT = "artifact"


class MountMode(StrEnum):
    """A pointer is followed, to where it stands when a run begins, or fixed to where it stood when it was mounted."""

    FOLLOW = "follow"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class MountRef:
    """Names a resource. An artifact is named by its hash."""

    kind: MountKind
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A knowledge base is mounted as it was at `revision`: what is added to it afterwards is seen after mounting it
    again. A pointer has a `mode`, and a fixed one its `manifest`.
    """

    kind: MountKind
    id: str
    revision: int = 0
    mounted_at: datetime
    mode: MountMode = MountMode.FOLLOW
    manifest: str | None = None

    @property
    def ref(self) -> MountRef:
        return MountRef(kind=self.kind, id=self.id)

    @property
    def holds_units(self) -> bool:
        """Whether it is a knowledge base, mounted by itself or come with a pack."""
        return self.kind in (MountKind.KNOWLEDGE_BASE, MountKind.PACK)
