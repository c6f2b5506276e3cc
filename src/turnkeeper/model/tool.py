"""What an agent can have done for it, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from turnkeeper.model.gate import GateKind
from turnkeeper.model.safety import SafetyMode


class ResourceKind(StrEnum):
    """What a tool may reach for. An artifact and a manifest are named by their hash."""

    POINTER = "pointer"
    MANIFEST = "manifest"
    ARTIFACT = "artifact"
    KNOWLEDGE_BASE = "knowledge_base"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Resource:
    kind: ResourceKind
    id: str


class Denial(StrEnum):
    """Why something was not done. What is not mounted and what does not exist are denied alike."""

    OUT_OF_SCOPE = "out_of_scope"
    TOOL_NOT_PERMITTED = "tool_not_permitted"
    POLICY_DENIED = "policy_denied"
    APPROVAL_REQUIRED = "approval_required"
    SESSION_NOT_ACTIVE = "session_not_active"
    LIMIT_EXCEEDED = "limit_exceeded"
    INVALID_ARGUMENTS = "invalid_arguments"


MEANINGS = {
    Denial.OUT_OF_SCOPE: "This session has no such resource. Use one that is mounted to it.",
    Denial.TOOL_NOT_PERMITTED: "This session has no such tool. Use one of those that are offered.",
    Denial.POLICY_DENIED: "The policy of this session does not let this happen.",
    Denial.APPROVAL_REQUIRED: "A person would have to approve this, and none did.",
    Denial.SESSION_NOT_ACTIVE: "The session takes no more actions.",
    Denial.LIMIT_EXCEEDED: "The run has used up what it may spend.",
    Denial.INVALID_ARGUMENTS: "The arguments do not fit the parameters of the tool.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as it is shown to a model. `action` is what policies speak of; a tool needs a run of `safety_mode`.

    `gate` is what its action needs in this session, when it was asked for in one.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    action: str
    safety_mode: SafetyMode = SafetyMode.READ_ONLY
    repeatable: bool = False
    gate: GateKind = GateKind.AUTO


class ToolStatus(StrEnum):
    OK = "ok"
    DENIED = "denied"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What an agent is handed back, whatever happened; a denial is a result that it can read, and no exception."""

    call_id: str
    tool: str
    status: ToolStatus
    data: Any = None
    code: str | None = None
    message: str | None = None
    warnings: tuple[str, ...] = ()
    took_ms: int = 0

    @property
    def is_ok(self) -> bool:
        return self.status is ToolStatus.OK

    @property
    def told(self) -> dict[str, Any]:
        """As a model reads it."""
        said: dict[str, Any] = {"tool_call_id": self.call_id, "status": self.status.value}
        if self.status is ToolStatus.OK:
            said["data"] = self.data
        else:
            said["error"] = {"code": self.code, "message": self.message}
        if self.warnings:
            said["warnings"] = list(self.warnings)
        return said
