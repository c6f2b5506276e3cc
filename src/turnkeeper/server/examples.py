"""An example for every body and every answer of the OpenAPI document, composed from the examples of its fields.

A field has its own example, or that of its name: `session_id` is the same session wherever it stands.
"""

from collections.abc import Iterator, Mapping
from typing import Any

JSON = "application/json"
MOMENT = "2026-11-16T09:30:00Z"
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bb22cd15d6c15b0f00a08"
DEEPEST = 8

BODIES: Mapping[str, Any] = {
    "SessionIn": {"agent": "concierge", "title": "A table for two", "idle_for_seconds": 3600},
    "SettingsIn": {"title": "A table for three", "double_text": "reject"},
    "CurrentIn": {"module": "research"},
    "ClosingIn": {"reason": "done"},
    "LayoutIn": {"layout": {"columns": ["chat", "units"]}},
    "ForkIn": {"at_turn": 2},
    "PackIn": {"files": {"pack.yaml": "id: table-booking\nversion: 1.0.0\n"}},
    "RepinIn": {"pack": "table-booking@1.1.0"},
    "OverrideIn": {"value": False},
    "SourceIn": {"name": "handbook", "content": "We are open from nine to five."},
    "UnitsIn": {"text": "Ada likes the table by the window."},
    "AgentIn": {"capabilities": ["tables"], "allowed_tools": ["connector.*"]},
    "ModelIn": {"chat_model": "small"},
    "LayerIn": {"name": "Opening", "terms": {"policy": "standard", "limits": {"tool_calls": 10}}},
    "LayerChangeIn": {"name": "Grand opening"},
    "TenantIn": {"id": "acme", "name": "Acme", "terms": {"quotas": {"sessions": 1000}}},
    "TenantChangeIn": {"terms": {"allowed_models": ["small", "large-*"]}},
    "UserIn": {"id": "ben", "role": "member", "name": "Ben"},
    "UserChangeIn": {"role": "admin"},
    "BindingIn": {"name": "front desk", "channel": "webhook", "reply": {"kind": "none"}},
    "BindingChangeIn": {"enabled": False},
    "ContactIn": {"address": "ada@example.org", "user": "ada"},
    "DecisionIn": {"decision": "approve", "reason": "I know this customer."},
    "ManifestIn": {"entries": [{"path": "report/summary.txt", "sha256": SHA256}], "message": "First draft"},
    "PointerIn": {"name": "report", "manifest": SHA256},
    "AdvanceIn": {"manifest": SHA256, "reason": "Second draft"},
    "ResetIn": {"manifest": SHA256, "reason": "The first draft was better"},
    "PublishIn": {"entries": [{"path": "summary.txt", "sha256": SHA256}], "message": "First draft"},
    "Health": {"status": "alive", "version": "1.0.0"},
}
"""Whole bodies, by the names of their schemas."""

IDS: Mapping[str, str] = {
    "SessionOut": "session_id",
    "RunOut": "run_id",
    "BaseOut": "base_id",
    "SourceOut": "source_id",
    "ArtifactOut": "artifact_id",
    "PointerOut": "pointer_id",
    "BindingOut": "binding_id",
    "ApprovalOut": "approval_id",
    "ReceiptOut": "receipt_id",
    "DeliveryOut": "delivery_id",
    "LayerOut": "project_id",
    "UserOut": "user",
    "AgentOut": "agent",
    "MessageOut": "message_id",
    "UnitOut": "unit_id",
    "MountOut": "base_id",
    "AuditOut": "audit_id",
}
"""Whose `id` it is, by the name of the schema."""

BY_NAME: Mapping[str, Any] = {
    "session_id": "sess_01M7HYQ3V8Z4T2N6K0R5W9XBCD",
    "run_id": "run_01M7HYQ3W1A9B8C7D6E5F4G3HJ",
    "base_id": "kb_01M7HYQ3X2K4M6N8P0Q2R4S6T8",
    "source_id": "src_01M7HYQ3Y3V5W7X9Y1Z3A5B7C9",
    "artifact_id": "art_01M7HYQ3Z4D6E8F0G2H4J6K8M0",
    "pointer_id": "ptr_01M7HYQ405N7P9Q1R3S5T7V9W1",
    "binding_id": "bind_01M7HYQ416X8Y0Z2A4B6C8D0E2",
    "approval_id": "appr_01M7HYQ427F9G1H3J5K7M9N1P3",
    "receipt_id": "rcpt_01M7HYQ438Q0R2S4T6V8W0X2Y4",
    "delivery_id": "dlv_01M7HYQ449Z1A3B5C7D9E1F3G5",
    "project_id": "proj_01M7HYQ45AH2J4K6M8N0P2Q4R6",
    "objective_id": "obj_01M7HYQ46BS3T5V7W9X1Y3Z5A7",
    "message_id": "msg_01M7HYQ47CB4C6D8E0F2G4H6J8",
    "unit_id": "session::2::unit-001",
    "audit_id": "node_01M7HYQ48DK5M7N9P1Q3R5S7T9:41",
    "request_id": "order-7",
    "id": "01M7HYQ49EV6W8X0Y2Z4A6B8C0",
    "code": "BOOK_TABLE",
    "state": "DETAILS",
    "pack": "table-booking@1.0.0",
    "ref": "table-booking@1.0.0",
    "source": "session",
    "level": "project",
    "created_by": "ada",
    "pushed_by": "ada",
    "decided_by": "ada",
    "channel": "email",
    "path": "report/summary.txt",
    "uri": "artifact:art_01M7HYQ3Z4D6E8F0G2H4J6K8M0",
    "verb": "chat",
    "outcome": "accepted",
    "preview": "For when?",
    "asked": "A table for two",
    "backend": "default",
    "policy": "standard",
    "question": "For when?",
    "missing": "date",
    "warning": "history_cut",
    "grant": "tables:book",
    "size": 1024,
    "namespace": "default",
    "kind": "bundle",
    "file": "pack.yaml",
    "user_id": "ada",
    "trace_id": "0af7651916cd43dd8448eb211c80319c",
    "sha256": SHA256,
    "hash": SHA256,
    "context_sha256": SHA256,
    "manifest": SHA256,
    "parent": SHA256,
    "agent": "concierge",
    "user": "ada",
    "owner": "ada",
    "tenant": "acme",
    "title": "A table for two",
    "text": "For when?",
    "message": "A table for two",
    "content": "A table for two",
    "name": "handbook",
    "status": "active",
    "role": "member",
    "model": "small",
    "media_type": "text/plain",
    "version": 3,
    "revision": 4,
    "turns": 2,
    "turn": 2,
    "epoch": 1,
    "limit": 50,
    "address": "ada@example.org",
    "reason": "no longer needed",
    "description": "What we tell newcomers",
    "language": "en-GB",
    "format": "text",
}


def put_examples(document: dict[str, Any]) -> None:
    """Give an example to each JSON body and each JSON answer that has none."""
    parts = document["components"]["schemas"]
    for operation in _operations(document):
        for media in _json_of(operation.get("requestBody", {})):
            _put(media, parts, is_request=True)
        for status, response in operation["responses"].items():
            if status.startswith("2"):
                for media in _json_of(response):
                    _put(media, parts, is_request=False)


def _operations(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for operations in document["paths"].values():
        yield from operations.values()


def _json_of(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for media_type, media in part.get("content", {}).items():
        if media_type == JSON:
            yield media


def _put(media: dict[str, Any], parts: Mapping[str, Any], *, is_request: bool) -> None:
    if "example" not in media and "examples" not in media and media.get("schema"):
        media["example"] = _Composer(parts, is_request).example_of(media["schema"], "", 0)


class _Composer:
    def __init__(self, parts: Mapping[str, Any], is_request: bool) -> None:
        self._parts = parts
        self._is_request = is_request

    def example_of(self, schema: Mapping[str, Any], name: str, depth: int) -> Any:
        if "$ref" in schema:
            title = schema["$ref"].rpartition("/")[2]
            if title in BODIES:
                return BODIES[title]
            schema = {**self._parts[title], **schema}
            schema.pop("$ref")
        for given in ("examples", "enum"):
            if schema.get(given):
                return schema[given][0]
        if "const" in schema:
            return schema["const"]
        for choice in ("anyOf", "oneOf", "allOf"):
            if choice in schema:
                return self._choice(schema[choice], name, depth)
        if name in BY_NAME and schema.get("type") == _type_of(BY_NAME[name]):
            return BY_NAME[name]
        return self._by_type(schema, name, depth)

    def _choice(self, choices: list[Mapping[str, Any]], name: str, depth: int) -> Any:
        """What may be null is null, unless there is something to show for it."""
        first = choices[0]
        is_telling = "$ref" in first or first.get("examples") or first.get("enum") or first.get("format")
        if {"type": "null"} in choices and name not in BY_NAME and not is_telling:
            return None
        return self.example_of(first, name, depth)

    def _by_type(self, schema: Mapping[str, Any], name: str, depth: int) -> Any:
        match schema.get("type"):
            case "object":
                return self._object(schema, depth)
            case "array":
                return (
                    []
                    if depth > DEEPEST
                    else [self.example_of(schema.get("items", {}), name.removesuffix("s"), depth + 1)]
                )
            case "string":
                return MOMENT if schema.get("format") == "date-time" else schema.get("default") or name or "text"
            case "integer" | "number":
                return schema.get("default") or schema.get("minimum", 1)
            case "boolean":
                return bool(schema.get("default", False))
        return None

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if depth > DEEPEST:
            return {}
        whose = IDS.get(schema.get("title", ""))
        wanted = schema.get("required", ()) if self._is_request else schema.get("properties", {})
        return {
            name: self.example_of(part, whose if name == "id" and whose else name, depth + 1)
            for name, part in schema.get("properties", {}).items()
            if name in wanted and (self._is_request or not _is_rare(name, part, schema))
        }


def _is_rare(name: str, part: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    """A field that is left out of most answers, and of which nothing is known to show."""
    return name not in whole.get("required", ()) and name not in BY_NAME and {"type": "null"} in part.get("anyOf", ())


def _type_of(value: Any) -> str:
    return "integer" if isinstance(value, int) else "string"
