"""Receipts to rows and back, and which statement erases what, the same for every backend."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from turnkeeper.model.ids import ReceiptId, SessionId, TenantId, UserId
from turnkeeper.model.manifest import NewManifest
from turnkeeper.model.pack import Classification
from turnkeeper.model.receipt import Erased, ErasedKind, Kept, Receipt
from turnkeeper.ports.erasure import Doomed, OverSession, Place, Terms
from turnkeeper.stores.rows import Params, Row, from_json, json_text, micros, moment


class NamedRow(Row, Protocol):
    """A row that knows its columns, as those of both drivers do."""

    def keys(self) -> Iterable[str]: ...


AT_ONCE = 500
LAST = "~"
ANY_AGE = 2**62
JOURNAL = "conversation {session_id}"

OF_RUNS = ("checkpoints", "effects", "approvals", "outbox", "explanations", "requests", "chunks", "feed", "runs")
"""What belongs to the runs of a session; the runs themselves last, since the others are found by them."""

OF_SESSION = ("messages", "turns", "epochs", "units", "outputs", "layouts", "current_sessions", "api_keys")
RENAMED = (
    "runs",
    "approvals",
    "pack_overrides",
    "knowledge_bases",
    "bindings",
    "layers",
    "users",
    "agent_definitions",
    "model_profiles",
    "pointers",
    "api_keys",
)
_TEXT_KEYS = {"runs", "explanations", "effects", "approvals", "deliveries"}

ALWAYS = (
    Kept(what="audit", count=0, why="It is chained by hashes, and holds ids and never what was said."),
    Kept(what="leases", count=0, why="Counters without a word, so that no number is ever given twice."),
)


def place_params(tenant: TenantId, place: Place) -> Params:
    session_id, subject = place
    return {"tenant": tenant, "session_id": session_id, "subject": subject}


def first_key(what: str) -> Any:
    return "" if what in _TEXT_KEYS else 0


def key_of(what: str) -> str:
    """The column by which rows of this kind are walked through."""
    if what in ("turns", "epochs"):
        return "number"
    if what in ("runs", "approvals", "deliveries"):
        return "id"
    return {"explanations": "run_id", "effects": "key"}.get(what, "no")


def redacted(move: NamedRow) -> Params:
    """A move of a pointer, without what the session said about it."""
    kept = {name: move[name] for name in list(move.keys())}
    return kept | {"session_id": None, "run_id": None, "reason": None}


def kept_because(
    *, moves: int, manifests: int, blobs: int, continued: int, sources: int, stays: Mapping[str, int]
) -> list[Kept]:
    reasons = [
        Kept(what="pointer_moves", count=moves, why="The history of a pointer stays; reason, session and run are out."),
        Kept(what="manifests", count=manifests, why="A pointer, another session or a later manifest names them."),
        Kept(what="blobs", count=blobs, why="Somebody else keeps the same content, or refers to it."),
        Kept(what="continued sessions", count=continued, why="They began with a copy of what was said last."),
        Kept(what="knowledge bases", count=sources, why="It was saved there as a source; remove that source."),
        *(
            Kept(what=f"{place}: id of the user", count=count, why="The table is append-only.")
            for place, count in stays.items()
        ),
    ]
    return [each for each in reasons if each.count] + list(ALWAYS)


def receipt_of_erasure(doomed: Doomed, terms: Terms, erased: Erased) -> Receipt:
    kind = ErasedKind.SESSION if doomed.user is None else ErasedKind.USER
    return Receipt(
        tenant=doomed.tenant,
        id=terms.receipt_id,
        kind=kind,
        subject=doomed.user or doomed.sessions[0],
        erased=erased,
        erased_by=terms.erased_by,
        erased_at=terms.at,
    )


def receipt_params(receipt: Receipt) -> Params:
    return {
        "tenant": receipt.tenant,
        "id": receipt.id,
        "kind": receipt.kind.value,
        "subject": receipt.subject,
        "data": json_text(receipt.erased.told),
        "erased_by": receipt.erased_by,
        "erased_at": micros(receipt.erased_at),
    }


def receipt_of(row: Row) -> Receipt:
    return Receipt(
        tenant=TenantId(row["tenant"]),
        id=ReceiptId(row["id"]),
        kind=ErasedKind(row["kind"]),
        subject=row["subject"],
        erased=Erased.of(from_json(row["data"])),
        erased_by=UserId(row["erased_by"]),
        erased_at=moment(row["erased_at"]),
    )


def over_of(row: Row) -> OverSession:
    return OverSession(
        tenant=TenantId(row["tenant"]),
        id=SessionId(row["id"]),
        closed_at=moment(row["closed_at"]),
        classification=Classification(row["classification"]) if row["classification"] else None,
        archived_at=None if row["archived_at"] is None else moment(row["archived_at"]),
    )


def archived_said(marked: Row, archive: NewManifest) -> dict[str, Any]:
    sha256 = archive.entries[0].sha256
    return {"status": marked["status"], "what": ["archived"], "archive": sha256, "manifest": archive.sha256}


def places_of(found: Sequence[Row]) -> list[Place]:
    return [(row["session_id"], row["subject"]) for row in found]


def counted(rows: Mapping[str, int]) -> dict[str, int]:
    """Only what was there."""
    return {name: count for name, count in rows.items() if count}


_JSON = {
    "metadata",
    "preferences",
    "mounts",
    "packs",
    "dialogue",
    "removed",
    "agent_head",
    "state",
    "data",
    "input",
    "result",
    "error",
    "account",
    "event",
}
_MOMENTS = {"at", "wait_until", "expires_by"}
_OURS = {"tenant", "subject", "search_row", "words", "line_no", "queue_no"}


def exported(row: NamedRow) -> dict[str, Any]:
    """A row as anybody can read it: JSON as JSON, moments as UTC, without what only the database needs."""
    told: dict[str, Any] = {}
    for name in list(row.keys()):
        if name not in _OURS:
            told[name] = _plain(name, row[name])
    return told


def _plain(name: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, str) and name in _JSON:
        return _from_json_or_text(value)
    if isinstance(value, int) and (name in _MOMENTS or name.endswith("_at")):
        return moment(value).isoformat().replace("+00:00", "Z")
    return value


def _from_json_or_text(value: str) -> Any:
    try:
        return from_json(value)
    except ValueError:
        return value
