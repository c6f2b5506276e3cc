"""Full envelopes that are refused at the door, and callers that send too much."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.errors.base import TurnkeeperError


class EnvelopeTooLarge(TurnkeeperError):
    code = "envelope_too_large"
    http_status = 413
    title = "The envelope is too large"

    def __init__(self, most_bytes: int) -> None:
        super().__init__(
            f"An envelope has at most {most_bytes} bytes. Send content as artifacts, and name them in attachments.",
            limit_bytes=most_bytes,
        )


class MissingRequiredField(TurnkeeperError):
    code = "missing_required_field"
    http_status = 400
    title = "The envelope lacks something"

    def __init__(self, places: str, details: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(f"The envelope is not valid at {places}. Add what is required; see details.", details=details)


class SchemaInvalid(TurnkeeperError):
    code = "schema_invalid"
    http_status = 400
    title = "The envelope does not fit its schema"

    def __init__(self, places: str, details: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(f"The envelope is not valid at {places}. See details, and the schema.", details=details)


class PackUnpinned(TurnkeeperError):
    code = "pack_unpinned"
    http_status = 400
    title = "A pack is named without its version"

    def __init__(self, places: str, details: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(f"Every pack is named with its exact version, at {places} too.", details=details)


class PackRefConflict(TurnkeeperError):
    code = "pack_ref_conflict"
    http_status = 400
    title = "A pack is named twice"

    def __init__(self, twice: Sequence[int]) -> None:
        super().__init__(
            "A pack is named twice. Name each one once.",
            details=[
                {"pointer": f"/context_pack_refs/{place}", "rule": "conflict", "message": "is named before"}
                for place in twice
            ],
        )


class TenantMismatch(TurnkeeperError):
    code = "tenant_mismatch"
    http_status = 403
    title = "The envelope is for another tenant"

    def __init__(self) -> None:
        super().__init__(
            "tenant_id is not the tenant that the token belongs to. Use a token of that tenant.",
            details=[{"pointer": "/tenant_id", "rule": "tenant", "message": "must be the tenant of the token"}],
        )


class UserMismatch(TurnkeeperError):
    code = "user_mismatch"
    http_status = 403
    title = "The envelope speaks for another user"

    def __init__(self) -> None:
        super().__init__(
            "user.user_id is not the user that the token belongs to. Only an owner or admin of the tenant may speak "
            "for others.",
            details=[{"pointer": "/user/user_id", "rule": "user", "message": "must be the user of the token"}],
        )


class AgentInactive(TurnkeeperError):
    code = "agent_inactive"
    http_status = 403
    title = "The agent is not active"

    def __init__(self) -> None:
        super().__init__(
            "agent.lifecycle is not `active`. Activate the agent, or name another one.",
            details=[{"pointer": "/agent/lifecycle", "rule": "lifecycle", "message": "must be active"}],
        )


class IntentUnknown(TurnkeeperError):
    code = "intent_unknown"
    http_status = 422
    title = "The pack has no such intent"

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__(
            f"input.intent names no intent of the pack. It has {', '.join(known)}; leave it empty to have it found.",
            details=[{"pointer": "/input/intent", "rule": "intent", "message": "is not in the pack"}],
        )


class GrantMissing(TurnkeeperError):
    code = "scope_insufficient"
    http_status = 403
    title = "The caller lacks a grant that the intent needs"

    def __init__(self, intent: str, grants: Sequence[str]) -> None:
        super().__init__(
            f"{intent} needs {', '.join(grants)}, which the caller does not have. Ask the operator for it; nothing of "
            "this turn was kept.",
            details=[{"message": "is missing", "grant": grant} for grant in sorted(grants)],
        )


class RateLimited(TurnkeeperError):
    code = "rate_limited"
    http_status = 429
    retryable = True
    title = "The tenant sends too much at once"

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__("The tenant has sent too many messages. Wait, then send again.", retry_after_ms=retry_after_ms)


class TooManyStreams(TurnkeeperError):
    code = "too_many_streams"
    http_status = 429
    retryable = True
    title = "The tenant has too many open streams"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"The tenant has {most} open streams on this node, the most it may have. Close one, then open another.",
            retry_after_ms=1_000,
        )


class TooManyLongRuns(TurnkeeperError):
    code = "too_many_long_runs"
    http_status = 429
    retryable = True
    title = "The tenant has too many long runs"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"The tenant has {most} long runs that are not over, the most it may have. Wait for one, or cancel it.",
            retry_after_ms=10_000,
        )
