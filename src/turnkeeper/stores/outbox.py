"""Deliveries to rows and back, the same for every backend."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from turnkeeper.model.ids import DeliveryId, NodeId, RunId, SessionId, TenantId
from turnkeeper.model.outbound import Delivery, DeliveryStatus, ReplyTo
from turnkeeper.stores.rows import Params, Row, json_text, micros, moment

LAST = "~"
"""Behind every id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Letter:
    to: ReplyTo
    text: str


_decode_letter = msgspec.json.Decoder(_Letter).decode


def delivery_params(delivery: Delivery) -> Params:
    return {
        "tenant": delivery.tenant,
        "id": delivery.id,
        "session_id": delivery.session_id,
        "run_id": delivery.run_id,
        "binding": delivery.to.binding,
        "channel": delivery.to.channel,
        "data": json_text(_Letter(to=delivery.to, text=delivery.text)),
        "status": delivery.status.value,
        "attempts": delivery.attempts,
        "due_at": micros(delivery.due_at),
        "error": delivery.error,
        "created_at": micros(delivery.created_at),
        "ended_at": None if delivery.ended_at is None else micros(delivery.ended_at),
    }


def settled_params(delivery: Delivery, node: NodeId) -> Params:
    return delivery_params(delivery) | {"node": node}


def page_params(
    tenant: TenantId,
    session_id: SessionId | None,
    status: DeliveryStatus | None,
    before: DeliveryId | None,
    limit: int,
) -> Params:
    return {
        "tenant": tenant,
        "session_id": session_id,
        "status": None if status is None else status.value,
        "before": before or LAST,
        "limit": limit,
    }


def retry_params(tenant: TenantId, delivery_id: DeliveryId, at: datetime) -> Params:
    return {"tenant": tenant, "id": delivery_id, "now": micros(at)}


def delivery_of(row: Row) -> Delivery:
    letter, ended_at = _decode_letter(row["data"]), row["ended_at"]
    return Delivery(
        tenant=TenantId(row["tenant"]),
        id=DeliveryId(row["id"]),
        session_id=SessionId(row["session_id"]),
        run_id=RunId(row["run_id"]),
        to=letter.to,
        text=letter.text,
        created_at=moment(row["created_at"]),
        due_at=moment(row["due_at"]),
        status=DeliveryStatus(row["status"]),
        attempts=row["attempts"],
        error=row["error"],
        ended_at=None if ended_at is None else moment(ended_at),
    )
