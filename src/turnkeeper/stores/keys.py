"""API keys to rows and back, the same for every backend."""

from turnkeeper.model.api_key import ApiKey, KeyKind
from turnkeeper.model.ids import KeyId, SessionId, TenantId, UserId
from turnkeeper.model.policy import Rate
from turnkeeper.model.principal import Role
from turnkeeper.stores.rows import Params, Row, from_json, json_text, micros, moment

LAST = "~"
"""Behind every id."""


def key_params(key: ApiKey) -> Params:
    return {
        "tenant": key.tenant,
        "id": key.id,
        "kind": key.kind.value,
        "name": key.name,
        "user": key.user,
        "role": key.role.value,
        "digest": key.digest,
        "grants": json_text(sorted(key.grants)),
        "limited_to": None if key.limited_to is None else json_text(sorted(key.limited_to)),
        "session_id": key.session_id,
        "is_operator": int(key.is_operator),
        "per_second": None if key.rate is None else key.rate.per_second,
        "burst": None if key.rate is None else key.rate.burst,
        "parent": key.parent,
        "created_by": key.created_by,
        "created_at": micros(key.created_at),
        "expires_at": None if key.expires_at is None else micros(key.expires_at),
    }


def key_of(row: Row) -> ApiKey:
    return ApiKey(
        tenant=TenantId(row["tenant"]),
        id=KeyId(row["id"]),
        kind=KeyKind(row["kind"]),
        name=row["name"],
        user=UserId(row["user_id"]),
        role=Role(row["role"]),
        digest=bytes(row["digest"]),
        grants=frozenset(from_json(row["grants"])),
        limited_to=None if row["limited_to"] is None else frozenset(from_json(row["limited_to"])),
        session_id=None if row["session_id"] is None else SessionId(row["session_id"]),
        is_operator=bool(row["is_operator"]),
        rate=None if row["per_second"] is None else Rate(per_second=row["per_second"], burst=row["burst"]),
        parent=row["parent"],
        created_by=UserId(row["created_by"]),
        created_at=moment(row["created_at"]),
        expires_at=None if row["expires_at"] is None else moment(row["expires_at"]),
        revoked_at=None if row["revoked_at"] is None else moment(row["revoked_at"]),
        used_at=None if row["used_at"] is None else moment(row["used_at"]),
    )
