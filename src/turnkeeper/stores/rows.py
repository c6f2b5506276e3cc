"""Rows to domain types and back, the same for every backend."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec

from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.checkpoint import Checkpoint, KeptCheckpoint
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.explanation import PREVIEW_CHARS, ExplainedRun, Explanation, Summary, Told
from turnkeeper.model.feed import FeedEntry, FeedType
from turnkeeper.model.ids import AgentId, Fence, MessageId, NodeId, RunId, SessionId, Subject, TenantId, TraceId, UserId
from turnkeeper.model.lease import Lease
from turnkeeper.model.message import Message, Speaker
from turnkeeper.model.mode import Mode
from turnkeeper.model.mount import Mount, MountRef
from turnkeeper.model.node import Node
from turnkeeper.model.pack import Classification, PackPin
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.purpose import IN_PROCESS, Module, PolicyTemplate, Purpose
from turnkeeper.model.run import Finish, Run, RunError, RunInput, RunStatus
from turnkeeper.model.session import Custody, Fork, Session, SessionStatus
from turnkeeper.model.turn import Turn
from turnkeeper.ports.runs import Committed, RequestKey, ResetWish, RunEnd
from turnkeeper.ports.sessions import OPENING_CHARS
from turnkeeper.stores.explained import written

Params = dict[str, Any]

LEASES_AT_ONCE = 2_000
SESSIONS_AT_ONCE = 1_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SPEAKERS = {speaker.value: speaker for speaker in Speaker}
_encoder = msgspec.json.Encoder()
_canonical = msgspec.json.Encoder(order="sorted")
_decode_input = msgspec.json.Decoder(RunInput).decode
_decode_error = msgspec.json.Decoder(RunError).decode
_decode_checkpoint = msgspec.json.Decoder(Checkpoint).decode
_decode_explanation = msgspec.json.Decoder(Explanation).decode
_decode_summary = msgspec.json.Decoder(Summary).decode
_decode_preferences = msgspec.json.Decoder(Preferences).decode
_decode_mounts = msgspec.json.Decoder(tuple[Mount, ...]).decode
_decode_removed = msgspec.json.Decoder(tuple[MountRef, ...]).decode
_decode_packs = msgspec.json.Decoder(tuple[PackPin, ...]).decode
_decode_dialogue = msgspec.json.Decoder(Dialogue).decode
_NO_DIALOGUE = Dialogue()
_NO_PURPOSE = Purpose()
_PURPOSE = ("module", "project_id", "objective_id", "objective", "policy", "model_profile", "backend")
_decode_any = msgspec.json.Decoder().decode


class Row(Protocol):
    def __getitem__(self, name: str, /) -> Any: ...


def micros(moment: datetime) -> int:
    """Microseconds since 1970: how both databases keep a moment."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    seconds, rest = divmod(value, 1_000_000)
    return (
        datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest) if rest else datetime.fromtimestamp(seconds, UTC)
    )


def _moment_or_none(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def json_text(value: Any) -> str:
    return _encoder.encode(value).decode()


def from_json(text: str) -> Any:
    return _decode_any(text)


def _json_or_none(value: Any) -> str | None:
    return None if value is None else json_text(value)


# --- sessions


def session_params(session: Session) -> Params:
    return {
        "tenant": session.tenant,
        "session_id": session.id,
        "owner": session.owner,
        "agent": session.agent,
        "status": session.status.value,
        "revision": session.revision,
        "version": session.version,
        "turns": session.turns,
        "last_seq": session.last_seq,
        "epoch": session.epoch.number,
        "epoch_started_at": micros(session.epoch.started_at),
        "epoch_first_seq": session.epoch.first_seq,
        "title": session.title,
        "double_text": session.double_text.value if session.double_text else None,
        "metadata": json_text(session.metadata),
        "idle_for_seconds": session.idle_for_seconds,
        "created_at": micros(session.created_at),
        "last_active_at": micros(session.last_active_at),
        "preferences": preferences_json(session.preferences),
        "mounts": json_text(session.mounts),
        "from_session_id": session.from_session_id,
        "packs": json_text(session.packs),
        "dialogue": dialogue_json(session.dialogue),
        "classification": session.classification and session.classification.value,
        "expires_by": None if session.expires_by is None else micros(session.expires_by),
        **scope_params(session),
        "agent_head": _json_or_none(session.agent_head),
        "fork_of": session.fork and session.fork.session_id,
        "fork_turn": session.fork and session.fork.turn,
        "fork_seq": session.fork and session.fork.seq,
    }


def scope_params(session: Session) -> Params:
    """What a session is for and what it may reach."""
    purpose = session.purpose
    return {
        "module": purpose.module and purpose.module.value,
        "project_id": purpose.project_id,
        "objective_id": purpose.objective_id,
        "objective": purpose.objective,
        "policy": purpose.policy and purpose.policy.value,
        "model_profile": purpose.model_profile,
        "backend": None if purpose.backend == IN_PROCESS else purpose.backend,
        "context_hash": session.context_sha256,
        "removed": json_text(session.removed) if session.removed else None,
    }


def preferences_json(preferences: Preferences) -> str:
    return "{}" if preferences.is_empty else json_text(preferences)


def dialogue_json(dialogue: Dialogue) -> str:
    """Most sessions have no intent, and most intents no open question: what says nothing takes no room."""
    return "{}" if dialogue.is_empty else json_text(dialogue.given)


def settings_params(changed: Session, version: int) -> Params:
    return {
        "tenant": changed.tenant,
        "session_id": changed.id,
        "status": changed.status.value,
        "title": changed.title,
        "double_text": changed.double_text.value if changed.double_text else None,
        "idle_for_seconds": changed.idle_for_seconds,
        "mounts": json_text(changed.mounts),
        "packs": json_text(changed.packs),
        "classification": changed.classification and changed.classification.value,
        "expires_by": None if changed.expires_by is None else micros(changed.expires_by),
        "last_active_at": micros(changed.last_active_at),
        "closed_at": None if changed.closed_at is None else micros(changed.closed_at),
        "closed_reason": changed.closed_reason,
        "pause_reason": changed.pause_reason,
        **scope_params(changed),
        "version": version,
    }


def session_of(row: Row) -> Session:
    return Session(
        tenant=TenantId(row["tenant"]),
        id=SessionId(row["id"]),
        owner=UserId(row["owner"]),
        agent=AgentId(row["agent"]),
        status=SessionStatus(row["status"]),
        revision=row["revision"],
        version=row["version"],
        turns=row["turns"],
        last_seq=row["last_seq"],
        epoch=Epoch(number=row["epoch"], started_at=moment(row["epoch_started_at"]), first_seq=row["epoch_first_seq"]),
        title=row["title"],
        double_text=DoubleText(row["double_text"]) if row["double_text"] else None,
        metadata=from_json(row["metadata"]) if row["metadata"] != "{}" else {},
        idle_for_seconds=row["idle_for_seconds"],
        created_at=moment(row["created_at"]),
        last_active_at=moment(row["last_active_at"]),
        closed_at=_moment_or_none(row["closed_at"]),
        closed_reason=row["closed_reason"],
        preferences=_decode_preferences(row["preferences"]) if row["preferences"] != "{}" else Preferences(),
        mounts=_decode_mounts(row["mounts"]) if row["mounts"] != "[]" else (),
        from_session_id=row["from_session_id"],
        packs=_decode_packs(row["packs"]) if row["packs"] != "[]" else (),
        dialogue=_decode_dialogue(row["dialogue"]) if row["dialogue"] != "{}" else _NO_DIALOGUE,
        classification=Classification(row["classification"]) if row["classification"] else None,
        expires_by=_moment_or_none(row["expires_by"]),
        purpose=_purpose_of(row),
        context_sha256=row["context_sha256"],
        removed=_decode_removed(row["removed"]) if row["removed"] else (),
        agent_head=from_json(row["agent_head"]) if row["agent_head"] else None,
        fork=_fork_of(row) if row["fork_of"] else None,
        pruned_at=_moment_or_none(row["pruned_at"]),
        archived_at=_moment_or_none(row["archived_at"]),
        archive=row["archive"],
        pause_reason=row["pause_reason"] if row["status"] == "paused" else None,
    )


def _purpose_of(row: Row) -> Purpose:
    if not any(row[name] for name in _PURPOSE):
        return _NO_PURPOSE
    return Purpose(
        module=Module(row["module"]) if row["module"] else None,
        project_id=row["project_id"],
        objective_id=row["objective_id"],
        objective=row["objective"],
        policy=PolicyTemplate(row["policy"]) if row["policy"] else None,
        model_profile=row["model_profile"],
        backend=row["backend"] or IN_PROCESS,
    )


def _fork_of(row: Row) -> Fork:
    return Fork(session_id=SessionId(row["fork_of"]), turn=row["fork_turn"], seq=row["fork_seq"])


def history_of(newest_first: Sequence[tuple[Any, ...]]) -> tuple[Message, ...]:
    """The messages of a window, oldest first. Every turn does this twenty times over, so it is kept lean."""
    return tuple(
        [
            Message(
                id=id,
                seq=seq,
                turn=turn,
                epoch=epoch,
                role=_SPEAKERS[role],
                content=content,
                created_at=moment(created_at),
                event=None if event is None else from_json(event),
            )
            for id, seq, turn, epoch, role, content, created_at, event in reversed(newest_first)
        ]
    )


def message_of(row: Row) -> Message:
    return Message(
        id=MessageId(row["id"]),
        seq=row["seq"],
        turn=row["turn"],
        epoch=row["epoch"],
        role=Speaker(row["role"]),
        content=row["content"],
        created_at=moment(row["created_at"]),
        event=None if row["event"] is None else from_json(row["event"]),
    )


# --- turns


def event_json(message: Message) -> str | None:
    return _json_or_none(message.event)


def message_params(tenant: TenantId, session_id: SessionId, turn: Turn) -> list[Params]:
    return [
        {
            "tenant": tenant,
            "session_id": session_id,
            "seq": message.seq,
            "id": message.id,
            "turn": message.turn,
            "epoch": message.epoch,
            "role": message.role.value,
            "content": message.content,
            "created_at": micros(message.created_at),
            "event": event_json(message),
        }
        for message in turn.messages
    ]


def turn_params(tenant: TenantId, session_id: SessionId, turn: Turn, expected_revision: int) -> Params:
    return {
        "tenant": tenant,
        "session_id": session_id,
        "turn": turn.number,
        "run_id": turn.run_id,
        "epoch": turn.epoch,
        "revision": expected_revision + 1,
        "expected_revision": expected_revision,
        "first_seq": turn.first_seq,
        "last_seq": turn.last_seq,
        "finish": turn.finish.value,
        "state": json_text(turn.state),
        "preferences": None if turn.preferences is None else preferences_json(turn.preferences),
        "packs": _json_or_none(turn.packs),
        "classification": turn.lifetime and turn.lifetime.classification.value,
        "most_idle_seconds": turn.lifetime and turn.lifetime.most_idle_seconds,
        "expires_by": micros(turn.lifetime.expires_by) if turn.lifetime else None,
        "dialogue": None if turn.dialogue is None else dialogue_json(turn.dialogue),
        "agent_head": _json_or_none(turn.agent_head),
        "account": _json_or_none(turn.account),
        "now": micros(turn.committed_at),
    }


# --- runs


def run_params(run: Run) -> Params:
    return {
        "tenant": run.tenant,
        "run_id": run.id,
        "session_id": run.session_id,
        "subject": run.subject,
        "custody": run.custody.value,
        "agent": run.agent,
        "user": run.user,
        "status": run.status.value,
        "queue_no": run.queue_no,
        "feed_no": run.feed_no,
        "trace_id": run.trace_id,
        "input": json_text(run.input.given),
        "accepted_at": micros(run.accepted_at),
        "wait_until": micros(run.wait_until),
        "started_at": None if run.started_at is None else micros(run.started_at),
        "fence": run.fence,
        "retry_of": run.retry_of,
        "retry_safe": int(run.retry_safe),
        "mode": run.mode.value,
    }


def run_of(row: Row) -> Run:
    return Run(
        tenant=TenantId(row["tenant"]),
        id=RunId(row["id"]),
        session_id=SessionId(row["session_id"]),
        custody=Custody(row["custody"]),
        agent=AgentId(row["agent"]),
        user=UserId(row["user_id"]),
        status=RunStatus(row["status"]),
        queue_no=row["queue_no"],
        feed_no=row["feed_no"],
        trace_id=TraceId(row["trace_id"]),
        input=_decode_input(row["input"]) if row["input"] else RunInput(),
        accepted_at=moment(row["accepted_at"]),
        wait_until=moment(row["wait_until"]),
        started_at=_moment_or_none(row["started_at"]),
        ended_at=_moment_or_none(row["ended_at"]),
        fence=None if row["fence"] is None else Fence(row["fence"]),
        turn=row["turn"],
        finish=Finish(row["finish"]) if row["finish"] else None,
        result=from_json(row["result"]) if row["result"] else None,
        error=_decode_error(row["error"]) if row["error"] else None,
        retry_of=row["retry_of"],
        superseded_by=row["superseded_by"],
        merged=None if row["merged"] is None else bool(row["merged"]),
        retry_safe=bool(row["retry_safe"]),
        mode=Mode(row["mode"]),
        account=from_json(row["account"]) if row["account"] else None,
    )


def ended_params(
    run: Run, status: RunStatus, at: datetime, error: RunError | None = None, by: RunId | None = None
) -> Params:
    return {
        "tenant": run.tenant,
        "run_id": run.id,
        "status": status.value,
        "now": micros(at),
        "error": _json_or_none(error),
        "result": None,
        "account": None,
        "carried_until": None,
        "by": by,
    }


def end_params(tenant: TenantId, run_id: RunId, end: RunEnd) -> Params:
    return {
        "tenant": tenant,
        "run_id": run_id,
        "status": end.status.value,
        "now": micros(end.at),
        "error": _json_or_none(end.error),
        "result": _json_or_none(end.result),
        "account": _json_or_none(end.account),
        "carried_until": None if end.carried_until is None else micros(end.carried_until),
        "by": None,
    }


def superseded_params(run: Run, by: RunId, at: datetime, turn: Turn | None, *, merged: bool) -> Params:
    return {
        "tenant": run.tenant,
        "run_id": run.id,
        "by": by,
        "now": micros(at),
        "turn": turn.number if turn else None,
        "finish": turn.finish.value if turn else None,
        "merged": int(merged),
    }


def wish_params(run: Run, how: str, by: RunId | None) -> Params:
    return {"tenant": run.tenant, "subject": run.subject, "how": how, "by": by}


def request_params(request: RequestKey, run: Run) -> Params:
    return {
        "tenant": run.tenant,
        "user": request.user or run.user,
        "key": request.key,
        "body_hash": request.body_hash,
        "run_id": run.id,
        "now": micros(run.accepted_at),
    }


def checkpoint_params(run: Run, checkpoint: Checkpoint, at: datetime) -> Params:
    return {"tenant": run.tenant, "run_id": run.id, "now": micros(at), "data": json_text(checkpoint)}


def lease_of(row: Row) -> Lease:
    return Lease(
        tenant=TenantId(row["tenant"]),
        subject=Subject(row["subject"]),
        run_id=RunId(row["run_id"]),
        holder=NodeId(row["holder"]),
        fence=Fence(row["fence"]),
        expires_at=moment(row["expires_at"]),
    )


def committed(released: Row, *, revision: int = 0) -> Committed:
    return Committed(revision=revision, feed_no=released["last_feed_no"], queued=released["queued"])


def lease_params(lease: Lease) -> Params:
    return {"tenant": lease.tenant, "subject": lease.subject, "run_id": lease.run_id, "fence": lease.fence}


def checkpoint_of(text: str) -> Checkpoint:
    return _decode_checkpoint(text)


def kept_checkpoint_of(row: Row) -> KeptCheckpoint:
    return KeptCheckpoint(
        run_id=RunId(row["run_id"]), seq=row["no"], at=moment(row["at"]), checkpoint=_decode_checkpoint(row["data"])
    )


def reset_params(lease: Lease, wish: ResetWish) -> Params:
    return {
        "tenant": lease.tenant,
        "session_id": wish.session_id,
        "run_id": lease.run_id,
        "expected_revision": wish.expected_revision,
        "dialogue": dialogue_json(wish.dialogue),
        "cause": wish.trigger,
        "now": micros(wish.at),
    }


def epoch_params(advanced: Row) -> Params:
    return {
        "epoch": advanced["epoch"],
        "revision": advanced["revision"],
        "first_seq": advanced["epoch_first_seq"],
    }


def epoch_of_run_params(run: Run) -> Params:
    return {"tenant": run.tenant, "session_id": run.session_id, "run_id": run.id, "retry_of": run.retry_of}


# --- what happened


def explanation_params(tenant: TenantId, explanation: Explanation) -> Params:
    return {
        "tenant": tenant,
        "session_id": explanation.session_id,
        "run_id": explanation.run_id,
        "explanation": written(explanation),
    }


def explanation_of(text: str) -> Explanation:
    return _decode_explanation(text)


def explanations_params(tenant: TenantId, session_id: SessionId, before: RunId | None, limit: int) -> Params:
    return {
        "tenant": tenant,
        "session_id": session_id,
        "before": before or "~",
        "limit": limit,
        "chars": PREVIEW_CHARS,
    }


def explained_run_params(run: Run) -> Params:
    return {"tenant": run.tenant, "session_id": run.session_id, "run_id": run.id, "chars": PREVIEW_CHARS}


def explained_run_of(row: Row) -> ExplainedRun[Explanation]:
    return _beside_what_was_said(_decode_explanation(row["data"]), row)


def summarized_run_of(row: Row) -> ExplainedRun[Summary]:
    """What happened inside the run is stepped over, not read."""
    return _beside_what_was_said(_decode_summary(row["data"]), row)


def _beside_what_was_said(explanation: Told, row: Row) -> ExplainedRun[Told]:
    """Of a turn its first and its last message are told; of every other run its input and its error."""
    asked, preview = row["asked"], row["preview"]
    if asked is None and row["input"]:
        asked = _said_in(row["input"])[:PREVIEW_CHARS]
    if preview is None and explanation.error is not None:
        preview = explanation.error.message[:PREVIEW_CHARS]
    return ExplainedRun(explanation=explanation, asked=asked or "", preview=preview or "")


def unanswered_of(found: Iterable[Row]) -> dict[SessionId, str]:
    """How a session begins in which nothing is committed yet: with what its newest run is to answer."""
    said = {row["session_id"]: _said_in(row["input"])[:OPENING_CHARS] for row in found}
    return {session_id: text for session_id, text in said.items() if text}


def _said_in(text: str) -> str:
    return "\n".join(event.as_text for event in _decode_input(text).events)


def feed_params(
    tenant: TenantId,
    subject: Subject,
    no: int,
    type: FeedType,
    run_id: RunId | None,
    at: datetime,
    data: Mapping[str, Any],
) -> Params:
    return {
        "tenant": tenant,
        "subject": subject,
        "no": no,
        "type": type.value,
        "run_id": run_id,
        "now": micros(at),
        "data": json_text(data),
    }


def accepted_params(run: Run) -> Params:
    said = {"agent": run.agent, "queue_no": run.queue_no}
    return feed_params(run.tenant, run.subject, run.feed_no, FeedType.RUN_ACCEPTED, run.id, run.accepted_at, said)


def turn_said(turn: Turn) -> dict[str, Any]:
    """What the feed says of a turn; its text is read from the messages, never kept twice."""
    spoken = turn.messages[-1].role is Speaker.ASSISTANT
    said: dict[str, Any] = {
        "turn": turn.number,
        "finish": turn.finish.value,
        "message_seq": turn.last_seq if spoken else None,
    }
    if turn.intent is not None:
        said["intent"] = turn.intent
    return said


def end_said(end: RunEnd) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if end.error is not None:
        said["error"] = end.error
    if end.result is not None and "text" in end.result:
        said["text"] = end.result["text"]
    return said


def feed_entry_of(row: Row) -> FeedEntry:
    return FeedEntry(
        no=row["no"],
        type=FeedType(row["type"]),
        run_id=row["run_id"],
        at=moment(row["at"]),
        data=from_json(row["data"]),
    )


def audit_body(facts: AuditFacts) -> str:
    """The canonical JSON that is hashed, and kept letter by letter as it was hashed."""
    said: Mapping[str, Any] = {
        "at": facts.at.isoformat(),
        "verb": facts.verb,
        "outcome": facts.outcome,
        **{name: value for name, value in facts.facts.items() if value is not None},
    }
    return _canonical.encode(said).decode()


def audit_entry_of(row: Row) -> AuditEntry:
    return AuditEntry(
        tenant=TenantId(row["tenant"]), chain=row["chain"], no=row["no"], body=row["body"], hash=bytes(row["hash"])
    )


def node_of(row: Row) -> Node:
    return Node(
        id=NodeId(row["id"]),
        started_at=moment(row["started_at"]),
        seen_at=moment(row["seen_at"]),
        agents=frozenset(AgentId(name) for name in from_json(row["agents"])),
    )


def node_params(node: Node) -> Params:
    return {
        "node": node.id,
        "started_at": micros(node.started_at),
        "agents": json_text(sorted(node.agents)),
    }
