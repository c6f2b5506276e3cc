"""A resource that a session may use."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class MountKind(StrEnum):
    KNOWLEDGE_BASE = "knowledge_base"
    PACK = "pack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """Mounted as it was at `revision`: what is added to the resource afterwards is seen after mounting it again."""

    kind: MountKind
    id: str
    revision: int
    mounted_at: datetime
