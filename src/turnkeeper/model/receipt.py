"""What is left of what was erased: who had it done, and how much went from where. Never the words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import ReceiptId, SessionId, TenantId, UserId

BY_THE_HOUSE = UserId("-")


class ErasedKind(StrEnum):
    SESSION = "session"
    USER = "user"


class ErasureReason(StrEnum):
    ASKED = "asked"
    RETENTION = "retention"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What had to stay, how much of it, and why."""

    what: str
    count: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How many rows of each table went and how many were changed, how many files and threads, and what stays.

    `sessions` are the ids of those that are gone.
    """

    reason: ErasureReason
    sessions: tuple[SessionId, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)
    files: int = 0
    threads: int = 0
    kept: tuple[Kept, ...] = ()
    pseudonym: str | None = None

    @property
    def told(self) -> dict[str, Any]:
        """As it is written down, by store."""
        return {
            "reason": self.reason.value,
            "sessions": list(self.sessions),
            "stores": {
                "database": {"erased": dict(self.rows), "changed": dict(self.changed)},
                "content": {"files": self.files},
                "graphs": {"threads": self.threads},
            },
            "kept": [{"what": each.what, "count": each.count, "why": each.why} for each in self.kept],
            "pseudonym": self.pseudonym,
        }

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "Erased":
        stores = told["stores"]
        return cls(
            reason=ErasureReason(told["reason"]),
            sessions=tuple(SessionId(each) for each in told["sessions"]),
            rows=stores["database"]["erased"],
            changed=stores["database"]["changed"],
            files=stores["content"]["files"],
            threads=stores["graphs"]["threads"],
            kept=tuple(Kept(**each) for each in told["kept"]),
            pseudonym=told["pseudonym"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """`subject` is the id of the session or user; `erased_by` BY_THE_HOUSE is nobody but the house itself."""

    tenant: TenantId
    id: ReceiptId
    kind: ErasedKind
    subject: str
    erased: Erased
    erased_by: UserId
    erased_at: datetime
