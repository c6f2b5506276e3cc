"""Everything that can go wrong for a caller, each with a stable code and what to do next.

A released code never changes. Faces render these in one place; `http_status` is part of the meaning, not of a face.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.model.budget import Overdrawn
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import (
    AgentId,
    ArtifactId,
    BindingId,
    DeliveryId,
    KnowledgeBaseId,
    RunId,
    SessionId,
    SourceId,
    UnitId,
)
from turnkeeper.model.outbound import DeliveryStatus
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.session import SessionStatus
from turnkeeper.model.unit import UnitStatus


class TurnkeeperError(Exception):
    code = "internal_error"
    http_status = 500
    retryable = False
    title = "Something went wrong"

    def __init__(
        self, detail: str, *, details: Sequence[Mapping[str, Any]] = (), retry_after_ms: int | None = None, **facts: Any
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.details = tuple(details)
        self.retry_after_ms = retry_after_ms
        self.facts = facts
        self.stage: str | None = None
        self.audited = False


class EnvelopeInvalid(TurnkeeperError):
    code = "envelope_invalid"
    http_status = 422
    title = "The request does not have the right shape"

    @classmethod
    def at(cls, pointer: str, message: str) -> "EnvelopeInvalid":
        """For a single fault."""
        fault = {"pointer": pointer, "message": message}
        return cls(f"The request is not valid at {pointer}. See details.", details=[fault])


class UnitTextInvalid(TurnkeeperError):
    """`details` names each fault by code, line, column, field and message; of very many, those that stand first."""

    code = "unit_text_invalid"
    http_status = 422
    title = "The text of the units has faults"

    def __init__(self, faults: Sequence[Mapping[str, Any]], *, count: int) -> None:
        counted = "one fault" if count == 1 else f"{count} faults"
        super().__init__(
            f"The text of the units has {counted}, so nothing of it was taken. Correct what details names.",
            details=faults,
            faults=count,
        )


class MalformedJson(TurnkeeperError):
    code = "malformed_json"
    http_status = 400
    title = "The body is not JSON"


class MalformedRequest(TurnkeeperError):
    code = "malformed_request"
    http_status = 400
    title = "The request cannot be read"


class BodyTooLarge(TurnkeeperError):
    code = "body_too_large"
    http_status = 413
    title = "The body is too large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit} bytes. Send less at once.", limit_bytes=limit)


class RouteNotFound(TurnkeeperError):
    code = "route_not_found"
    http_status = 404
    title = "No such route"

    def __init__(self) -> None:
        super().__init__("Nothing answers under this path. /openapi.json lists every route.")


class MethodNotAllowed(TurnkeeperError):
    code = "method_not_allowed"
    http_status = 405
    title = "The route does not take this method"

    def __init__(self, allowed: str) -> None:
        super().__init__(f"This route takes {allowed}." if allowed else "This route does not take this method.")


class MediaTypeNotSupported(TurnkeeperError):
    code = "media_type_not_supported"
    http_status = 415
    title = "The body has the wrong media type"

    def __init__(self) -> None:
        super().__init__("Send JSON in UTF-8, uncompressed, with 'Content-Type: application/json'.")


class NotAuthenticated(TurnkeeperError):
    code = "unauthenticated"
    http_status = 401
    title = "Who are you?"

    def __init__(self, detail: str = "Send a valid token as 'Authorization: Bearer TOKEN'.") -> None:
        super().__init__(detail)


class TokenExpired(NotAuthenticated):
    code = "token_expired"
    title = "The token has expired"

    def __init__(self) -> None:
        super().__init__("This token has expired. Ask the operator for a new one.")


class NotAllowed(TurnkeeperError):
    code = "not_allowed"
    http_status = 403
    title = "Not allowed"


class SessionNotFound(TurnkeeperError):
    """Also raised for a session of another tenant or user: whether it exists is none of the caller's business."""

    code = "session_not_found"
    http_status = 404
    title = "No such session"

    def __init__(self, session_id: SessionId) -> None:
        super().__init__(f"There is no session {session_id!r}. Leave out session_id to start a new one.")


class SessionClosed(TurnkeeperError):
    code = "session_closed"
    http_status = 410
    title = "The session is closed"

    def __init__(self, session_id: SessionId) -> None:
        super().__init__(f"Session {session_id!r} is closed. It can be read, but takes no more messages.")


class SessionExpired(TurnkeeperError):
    code = "session_expired"
    http_status = 410
    title = "The session has expired"

    def __init__(self, session_id: SessionId) -> None:
        super().__init__(f"Session {session_id!r} has expired. It can be read; start a new session to go on.")


class InvalidTransition(TurnkeeperError):
    code = "invalid_transition"
    http_status = 409
    title = "The session cannot change that way"

    def __init__(self, session_id: SessionId, status: SessionStatus, wanted: SessionStatus) -> None:
        super().__init__(f"Session {session_id!r} is {status} and cannot become {wanted}.")


class VersionMoved(TurnkeeperError):
    code = "version_moved"
    http_status = 412
    retryable = True
    title = "The settings were changed meanwhile"

    def __init__(self, session_id: SessionId, *, expected: int, actual: int) -> None:
        super().__init__(
            f"The settings of session {session_id!r} are at version {actual}, not {expected}. Read them again first.",
            version=actual,
        )


class SessionMoved(TurnkeeperError):
    code = "session_moved"
    http_status = 409
    retryable = True
    title = "The session has moved on"

    def __init__(self, session_id: SessionId, *, expected_revision: int) -> None:
        super().__init__(
            f"Session {session_id!r} is no longer at revision {expected_revision}. "
            "Send the same envelope again; it will run on the newer revision."
        )


class SessionNotOver(TurnkeeperError):
    code = "session_not_over"
    http_status = 409
    title = "Only a finished session is continued in a new one"

    def __init__(self, session_id: SessionId) -> None:
        super().__init__(f"Session {session_id!r} is still open. Go on in it, or close it first.")


class UnitNotFound(TurnkeeperError):
    code = "unit_not_found"
    http_status = 404
    title = "No such unit"

    def __init__(self, unit_id: UnitId) -> None:
        super().__init__(f"There is no unit {unit_id!r} in this session. Its units can be listed.")


class UnitNotCurrent(TurnkeeperError):
    code = "unit_not_current"
    http_status = 409
    title = "The unit is no longer in use"

    def __init__(self, unit_id: UnitId, status: UnitStatus) -> None:
        super().__init__(f"Unit {unit_id!r} is {status.value}, so it cannot be edited. Edit what took its place.")


class KnowledgeBaseNotFound(TurnkeeperError):
    code = "knowledge_base_not_found"
    http_status = 404
    title = "No such knowledge base"

    def __init__(self, base_id: KnowledgeBaseId) -> None:
        super().__init__(f"There is no knowledge base {base_id!r}. Create it, or list those that there are.")


class SourceNotFound(TurnkeeperError):
    code = "source_not_found"
    http_status = 404
    title = "No such source"

    def __init__(self, source_id: SourceId) -> None:
        super().__init__(f"There is no source {source_id!r} in this knowledge base. Its sources can be listed.")


class SourceTooLarge(TurnkeeperError):
    code = "source_too_large"
    http_status = 413
    title = "The source is too large"

    def __init__(self, size: str, most: int) -> None:
        super().__init__(f"The source has {size}; at most {most} are taken. Split it into several sources.")


class KnowledgeBaseFull(TurnkeeperError):
    code = "knowledge_base_full"
    http_status = 409
    title = "The knowledge base is full"

    def __init__(self, base_id: KnowledgeBaseId, *, sources: int, units: int) -> None:
        super().__init__(
            f"Knowledge base {base_id!r} holds at most {sources} sources and {units} units. Remove a source, or use a "
            "second base: a session can mount several."
        )


class RevisionMoved(TurnkeeperError):
    code = "revision_moved"
    http_status = 412
    title = "The knowledge base was changed in the meantime"

    def __init__(self, base_id: KnowledgeBaseId, *, expected: int, actual: int) -> None:
        super().__init__(
            f"Knowledge base {base_id!r} is at revision {actual}, not {expected}. Look at it again, then repeat the "
            "change with the new revision."
        )


class PackNotFound(TurnkeeperError):
    code = "pack_not_found"
    http_status = 404
    title = "No such pack"

    def __init__(self, ref: str) -> None:
        super().__init__(f"There is no pack {ref!r}. Push it (turnkeeper packs push), or list those that there are.")


class PackImmutable(TurnkeeperError):
    code = "pack_immutable"
    http_status = 409
    title = "This version of the pack is there already, with other files"

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"{ref!r} was pushed before, with other files, and a pushed pack never changes. Raise `version` in "
            "pack.yaml, then push again."
        )


class PackInvalid(TurnkeeperError):
    """`details` names each fault by file, line, pointer and message."""

    code = "pack_invalid"
    http_status = 422
    title = "The pack has faults"

    def __init__(self, faults: Sequence[Mapping[str, Any]]) -> None:
        counted = "one fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(
            f"The pack has {counted}, so nothing of it was taken. Correct what details names.", details=faults
        )


class PackVersionMismatch(TurnkeeperError):
    code = "pack_version_mismatch"
    http_status = 409
    title = "The session is pinned to another pack"

    def __init__(self, session_id: SessionId, *, pinned: Sequence[str], requested: Sequence[str]) -> None:
        held = f"is pinned to {', '.join(pinned)}" if pinned else "has begun without a pack"
        super().__init__(
            f"Session {session_id!r} {held}, and the request names {', '.join(requested)}. Leave the packs out where "
            "you can, begin a new session, or repin this one.",
            details=_pin_differences(pinned, requested),
        )


def _pin_differences(pinned: Sequence[str], requested: Sequence[str]) -> list[dict[str, Any]]:
    """Each pack that is asked for otherwise than it is pinned, that is new, or that was left out."""
    held = {ref.partition("@")[0]: ref for ref in pinned}
    asked = {ref.partition("@")[0]: ref for ref in requested}
    names = [*asked, *(name for name in held if name not in asked)]
    return [
        {
            "pointer": "/context_pack_refs" if len(requested) > 1 else "/pack",
            "message": "is not what the session is pinned to",
            "pack_id": name,
            "pinned": held.get(name),
            "requested": asked.get(name),
        }
        for name in names
        if held.get(name) != asked.get(name)
    ]


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


class ExtraMissing(TurnkeeperError):
    code = "extra_missing"
    http_status = 501
    title = "A part of turnkeeper is not installed"

    def __init__(self, extra: str, library: str) -> None:
        super().__init__(
            f"This needs {library!r}, which is not installed. Install it with: pip install 'turnkeeper[{extra}]'"
        )


class ChannelNotAccepted(TurnkeeperError):
    code = "channel_not_accepted"
    http_status = 403
    title = "The intent is not for this channel"

    def __init__(self, intent: str, channel: str, accepted: Sequence[str]) -> None:
        super().__init__(
            f"{intent} cannot be served over {channel!r}, only over {', '.join(accepted)}. Go on there, or switch to "
            "something else; nothing of this turn was kept."
        )


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


class ChannelUnsupported(TurnkeeperError):
    code = "channel_unsupported"
    http_status = 400
    title = "There is no such channel"

    def __init__(self, channel: str, known: Sequence[str]) -> None:
        super().__init__(
            f"There is no channel {channel!r}. Known are: {', '.join(known)}.",
            details=[{"pointer": "/input/channel", "message": "names no channel", "known": list(known)}],
        )


class ChannelPayloadInvalid(TurnkeeperError):
    """What came does not have the shape of its channel; `details` name each fault by its JSON pointer."""

    code = "channel_payload_invalid"
    http_status = 400
    title = "The message does not have the shape of its channel"

    @classmethod
    def at(cls, pointer: str, message: str) -> "ChannelPayloadInvalid":
        return cls(
            f"The message is not valid at {pointer}: {message}.", details=[{"pointer": pointer, "message": message}]
        )


class AttachmentTooLarge(ChannelPayloadInvalid):
    code = "attachment_too_large"
    http_status = 413
    title = "An attachment is too large"

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"An attachment has {size} bytes; at most {most} are taken. Send a link to it instead.")


class WebhookSignatureInvalid(TurnkeeperError):
    code = "webhook_signature_invalid"
    http_status = 401
    title = "The signature does not fit"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The request is not vouched for: {reason}. Sign it with the secret of its binding.")


class NormalizationFailed(TurnkeeperError):
    code = "normalization_failed"
    http_status = 500
    title = "The channel lost something"


class ArtifactNotFound(TurnkeeperError):
    """Also raised for what somebody else keeps: whether it exists is none of the caller's business."""

    code = "artifact_not_found"
    http_status = 404
    title = "No such artifact"

    def __init__(self, artifact_id: ArtifactId) -> None:
        super().__init__(f"There is no artifact {artifact_id!r}. Keep its content again to get a new id.")


class ArtifactDamaged(TurnkeeperError):
    code = "artifact_damaged"
    http_status = 500
    title = "The content is not what was kept"

    def __init__(self, artifact_id: ArtifactId) -> None:
        super().__init__(
            f"The content of artifact {artifact_id!r} no longer has the hash under which it was kept, so it is not "
            "given out. Restore the database from a backup, or keep the content again."
        )


class BindingNotFound(TurnkeeperError):
    """Also raised for one of another tenant or channel, and for one that is switched off."""

    code = "binding_not_found"
    http_status = 404
    title = "No such binding"

    def __init__(self, binding_id: BindingId) -> None:
        super().__init__(f"There is no binding {binding_id!r} here. Owner and admin of a tenant can list its bindings.")


class SenderUnknown(TurnkeeperError):
    code = "sender_unknown"
    http_status = 403
    title = "The sender is not known here"

    def __init__(self) -> None:
        super().__init__(
            "This binding takes messages of known contacts only. Ask an operator to add the address as a contact, or "
            "to let strangers in as guests."
        )


class ContactNotFound(TurnkeeperError):
    code = "contact_not_found"
    http_status = 404
    title = "No such contact"

    def __init__(self) -> None:
        super().__init__("There is no contact with this address at this binding. Its contacts can be listed.")


class DeliveryNotFound(TurnkeeperError):
    code = "delivery_not_found"
    http_status = 404
    title = "No such delivery"

    def __init__(self, delivery_id: DeliveryId) -> None:
        super().__init__(f"There is no delivery {delivery_id!r}. Deliveries can be listed, newest first.")


class DeliveryNotOver(TurnkeeperError):
    code = "delivery_not_over"
    http_status = 409
    title = "The delivery cannot be sent again"

    def __init__(self, delivery_id: DeliveryId, status: DeliveryStatus) -> None:
        super().__init__(
            f"Delivery {delivery_id!r} is {status.value}. Only one that failed, or of which nobody knows whether it "
            "went out, is sent again.",
            status_of_delivery=status.value,
        )


class PackIntegrityError(TurnkeeperError):
    code = "pack_integrity_error"
    http_status = 409
    title = "The pack is not the one that the session was pinned to"

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"{ref!r} has other files than those that the session was pinned to. Send `carried` as it was received, or "
            "begin a new session."
        )


class LeaseLost(TurnkeeperError):
    code = "lease_lost"
    http_status = 409
    retryable = True
    title = "Another run has taken over"

    def __init__(self, run_id: RunId) -> None:
        super().__init__(f"Run {run_id!r} no longer holds its session and may not write to it.")


class SessionBusy(TurnkeeperError):
    code = "session_busy"
    http_status = 409
    retryable = True
    title = "The session is answering another message"

    def __init__(self, session_id: SessionId, *, holder: str | None, since: str | None, state: str) -> None:
        super().__init__(
            f"Session {session_id!r} is {state}. Wait for it, or send with double_text 'enqueue'.",
            holder=holder,
            since=since,
            state=state,
            retry_after_ms=1000,
        )


class QueueFull(TurnkeeperError):
    code = "queue_full"
    http_status = 429
    retryable = True
    title = "Too many messages are waiting"

    def __init__(self, session_id: SessionId, *, queued: int) -> None:
        super().__init__(
            f"{queued} messages already wait in session {session_id!r}. Send this one again later.",
            queued=queued,
            retry_after_ms=1000,
        )


class DuplicateRequest(TurnkeeperError):
    code = "duplicate_request"
    http_status = 409
    title = "This request id was used for something else"

    def __init__(self, request_id: str) -> None:
        super().__init__(f"Request id {request_id!r} was used with another body. Use a new id for a new request.")


class DoubleTextNotAllowed(TurnkeeperError):
    code = "double_text_not_allowed"
    http_status = 422
    title = "The agent does not take messages that way"

    def __init__(self, agent: AgentId, wanted: DoubleText, allowed: Sequence[DoubleText]) -> None:
        names = ", ".join(sorted(allowed))
        super().__init__(f"Agent {agent!r} does not allow double_text {wanted.value!r}. It allows: {names}.")


class AgentNotFound(TurnkeeperError):
    code = "agent_not_found"
    http_status = 422
    title = "No such agent"

    def __init__(self, agent: AgentId, known: Sequence[AgentId]) -> None:
        names = ", ".join(sorted(known)) or "none"
        super().__init__(f"No live node has an agent {agent!r}. Registered agents: {names}.")


class RunNotFound(TurnkeeperError):
    code = "run_not_found"
    http_status = 404
    title = "No such run"

    def __init__(self, run_id: RunId) -> None:
        super().__init__(f"There is no run {run_id!r}.")


class RunNotWaiting(TurnkeeperError):
    code = "run_not_waiting"
    http_status = 409
    title = "The run is not waiting for an answer"

    def __init__(self, run_id: RunId, status: RunStatus) -> None:
        super().__init__(f"Run {run_id!r} is {status}, so it takes no answer. Send an ordinary message instead.")


class RunEnded(TurnkeeperError):
    """Told to whoever waits for a run that came to another end than a reply."""

    title = "The run did not complete"

    def __init__(self, run: Run) -> None:
        code, status, retryable, words = ENDS_OF_RUN[run.status]
        if run.error is not None:
            code, words, retryable = run.error.code, run.error.message, run.error.retryable
        details = run.error.details if run.error else ()
        super().__init__(words, details=details, run_id=run.id, session_id=run.session_id, run_status=run.status.value)
        if run.superseded_by:
            self.facts["superseded_by"] = run.superseded_by
        if run.result and run.result.get("carried"):
            self.facts["carried"] = run.result["carried"]
        self.code, self.http_status, self.retryable = code, _STATUS_OF_FAILURE.get(code, status), retryable
        self.stage = run.error.stage if run.error else None


class AgentFailed(TurnkeeperError):
    code = "agent_failed"
    http_status = 502
    title = "The agent failed"


class PluginNotFound(TurnkeeperError):
    code = "plugin_not_found"
    http_status = 422
    title = "No such plugin"

    def __init__(self, kind: str, plugin: str, known: Sequence[str]) -> None:
        names = ", ".join(known) or "none"
        super().__init__(
            f"There is no plugin {plugin!r} of kind {str(kind)!r}. Known are: {names}. Name one of them, or none.",
            kind=str(kind),
            plugin=plugin,
            known=list(known),
        )


class PluginStageExhausted(TurnkeeperError):
    code = "plugin_stage_exhausted"
    http_status = 502
    title = "No plugin could do its part"

    def __init__(self, kind: str, failures: Sequence[tuple[str, str]]) -> None:
        tried = ", ".join(f"{plugin} ({reason})" for plugin, reason in failures) or "none is registered"
        super().__init__(
            f"Every plugin of kind {str(kind)!r} that was tried has failed: {tried}. "
            "The Explanation shows each attempt.",
            details=[{"plugin": plugin, "reason": reason} for plugin, reason in failures],
            kind=str(kind),
        )


class BudgetExceeded(TurnkeeperError):
    code = "budget_exceeded"
    http_status = 429
    title = "The run has no calls of a model left"

    def __init__(self, *, spent: int, limit: int) -> None:
        super().__init__(
            f"This run may call a model {limit} times and has made {spent} calls; what it needs is more than is left. "
            "Ask fewer questions at once, or choose plugins that need no model.",
            spent=spent,
            limit=limit,
        )


class OverBudget(TurnkeeperError):
    code = "budget_exceeded"
    http_status = 429
    title = "The run has spent what it may spend"

    def __init__(self, overdrawn: Overdrawn) -> None:
        super().__init__(
            f"This run has a limit of {overdrawn.limit:g} {overdrawn.resource}, {overdrawn.left:g} of them are left, "
            f"and it needed {overdrawn.wanted:g}. Ask for less at once, or for a larger budget.",
            resource=overdrawn.resource,
            limit=overdrawn.limit,
        )


class CompileFailed(TurnkeeperError):
    code = "compile_failed"
    http_status = 502
    title = "The context of the run could not be compiled"

    def __init__(self, kind: str) -> None:
        super().__init__(f"The compiler failed with {kind}. No agent was asked, and nothing of this turn was kept.")


class FrameDepthExceeded(TurnkeeperError):
    code = "frame_depth_exceeded"
    http_status = 422
    title = "The question was taken apart too often"

    def __init__(self, limit: int) -> None:
        super().__init__(f"A question may be taken apart {limit} times, one inside the other. Ask a simpler one.")


class AnswerRejected(TurnkeeperError):
    code = "answer_rejected"
    http_status = 502
    title = "No answer was good enough"

    def __init__(self, reasons: Sequence[str]) -> None:
        said = "; ".join(reasons) or "no reason was given"
        super().__init__(f"Every answer was turned down by a validator: {said}. Ask in other words.")


class CheckpointConflict(LeaseLost):
    code = "checkpoint_conflict"
    title = "Another node went on with this run"


class EffectUnknown(TurnkeeperError):
    """Raised into an agent whose effect was begun, and of which nobody knows whether it happened."""

    code = "effect_unknown"
    http_status = 409
    title = "Nobody knows whether something was done"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"{key!r} was begun by an earlier attempt at this run, and nobody knows whether it was done. Look whether "
            "it was, and send the message again if not. If it may be done twice, the agent says repeatable=True.",
            key=key,
        )


class VerifyRejected(TurnkeeperError):
    """`details` names the kind of the verdict and each of its reasons."""

    code = "verify_rejected"
    http_status = 422
    title = "The turn was refused"

    def __init__(self, kind: str | None, reasons: Sequence[str]) -> None:
        said = " ".join(reasons) or "No reason was given; ask in other words."
        super().__init__(f"The turn was refused before it was done. {said}", details=_judged(kind, reasons))


class Escalated(TurnkeeperError):
    """`details` names the kind of the verdict and each of its reasons."""

    code = "escalated"
    http_status = 409
    title = "A person has to decide"

    def __init__(self, kind: str | None, reasons: Sequence[str], *, denied: bool = False) -> None:
        said = " ".join(reasons) or "No reason was given."
        done = (
            "was denied" if denied else "needs the decision of a person; ask with mode long_running to be asked for it"
        )
        super().__init__(f"What this turn wants {done}. {said}", details=_judged(kind, reasons))


def _judged(kind: str | None, reasons: Sequence[str]) -> list[dict[str, str | None]]:
    return [{"kind": kind, "message": reason} for reason in reasons] or [{"kind": kind, "message": ""}]


class StateTooLarge(TurnkeeperError):
    code = "state_too_large"
    http_status = 413
    title = "The state is too large"

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"The state is {size} bytes; at most {limit} are kept. Store less on the turn.")


class DialogueTooLarge(TurnkeeperError):
    code = "dialogue_too_large"
    http_status = 413
    title = "The session would hold too much"

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"With this message the session would hold {size} bytes of params and answers; at most {limit} are kept. "
            "Send fewer or shorter params, or reset the session."
        )


class StoreUnavailable(TurnkeeperError):
    code = "store_unavailable"
    http_status = 503
    retryable = True
    title = "The database cannot be reached"

    def __init__(self, reason: str, *, advice: str = "Nothing was half done; send the same request again.") -> None:
        super().__init__(f"{reason} {advice}", retry_after_ms=1000)


class SchemaTooNew(TurnkeeperError):
    code = "schema_too_new"
    http_status = 503
    title = "The database needs a newer turnkeeper"


class SchemaDamaged(TurnkeeperError):
    code = "schema_damaged"
    http_status = 503
    title = "The database was migrated by other files than these"


class ShuttingDown(TurnkeeperError):
    code = "shutting_down"
    http_status = 503
    retryable = True
    title = "The server is stopping"

    def __init__(self) -> None:
        super().__init__("This node is shutting down. Send the request again; another node will take it.")


ENDS_OF_RUN: dict[RunStatus, tuple[str, int, bool, str]] = {
    RunStatus.FAILED: ("agent_failed", 502, False, "The agent failed. Its Explanation says why."),
    RunStatus.CANCELLED: ("run_cancelled", 409, False, "The run was cancelled."),
    RunStatus.TIMED_OUT: ("run_timed_out", 504, True, "The run took too long and was stopped. Nothing of it was kept."),
    RunStatus.SUPERSEDED: ("run_superseded", 409, False, "A later message took the place of this one."),
    RunStatus.ABANDONED: ("run_abandoned", 503, True, "The node that ran this stopped. Send the same request again."),
}

_STATUS_OF_FAILURE = {
    cls.code: cls.http_status
    for cls in (
        AnswerRejected,
        BudgetExceeded,
        ChannelNotAccepted,
        DialogueTooLarge,
        EffectUnknown,
        Escalated,
        ExtraMissing,
        FrameDepthExceeded,
        GrantMissing,
        PackIntegrityError,
        PackInvalid,
        PackNotFound,
        PackVersionMismatch,
        PluginNotFound,
        PluginStageExhausted,
        SessionClosed,
        SessionExpired,
        ShuttingDown,
        StateTooLarge,
        StoreUnavailable,
        UnitNotCurrent,
        UnitNotFound,
        UnitTextInvalid,
        VerifyRejected,
    )
}
