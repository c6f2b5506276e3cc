"""Keys of seals to rows and back, the same for every backend."""

from datetime import datetime

from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.seal import SealKey
from turnkeeper.ports.custody import DeviceFields, RevisionMark
from turnkeeper.stores.rows import Params, Row, from_json, json_text, micros, moment


def seal_params(key: SealKey) -> Params:
    return {"tenant": key.tenant, "id": key.id, "key": key.key, "created_at": micros(key.created_at)}


def seal_of(row: Row) -> SealKey:
    return SealKey(
        tenant=TenantId(row["tenant"]),
        id=row["id"],
        key=None if row["key"] is None else bytes(row["key"]),
        created_at=moment(row["created_at"]),
        retired_at=None if row["retired_at"] is None else moment(row["retired_at"]),
    )


def device_params(tenant: TenantId, kept: DeviceFields, at: datetime) -> Params:
    place = session_params(tenant, kept.user, kept.session_id)
    return place | {"fields": json_text(kept.fields), "version": kept.version, "now": micros(at)}


def device_of(row: Row) -> DeviceFields:
    return DeviceFields(
        user=UserId(row["user_id"]),
        session_id=SessionId(row["id"]),
        fields=from_json(row["fields"]),
        version=row["version"],
    )


def session_params(tenant: TenantId, user: UserId, session_id: SessionId) -> Params:
    return {"tenant": tenant, "user": user, "session_id": session_id}


def mark_params(tenant: TenantId, mark: RevisionMark, at: datetime) -> Params:
    return session_params(tenant, mark.user, mark.session_id) | {
        "sent": mark.sent,
        "revision": mark.becomes,
        "now": micros(at),
    }
