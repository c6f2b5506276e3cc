"""Packs to rows and back, the same for every backend."""

from turnkeeper.model.ids import KnowledgeBaseId, TenantId, UserId
from turnkeeper.model.pack import PackOverride, PushedPack, version_key
from turnkeeper.stores.rows import Params, Row, from_json, json_text, micros, moment


def pack_params(pack: PushedPack) -> Params:
    return {
        **place_params(pack.tenant, pack.id, pack.version),
        "hash": pack.hash,
        "files": json_text(pack.files),
        "knowledge_base": pack.knowledge_base,
        "knowledge_revision": pack.knowledge_revision,
        "pushed_by": pack.pushed_by,
        "pushed_at": micros(pack.pushed_at),
    }


def place_params(tenant: TenantId, pack_id: str, version: str) -> Params:
    major, minor, patch = version_key(version)
    return {"tenant": tenant, "id": pack_id, "major": major, "minor": minor, "patch": patch}


def page_params(tenant: TenantId, after: tuple[str, str] | None, limit: int) -> Params:
    pack_id, version = after or ("", "0.0.0")
    return place_params(tenant, pack_id, version) | {"limit": limit}


def pack_of(row: Row) -> PushedPack:
    base = row["knowledge_base"]
    return PushedPack(
        tenant=TenantId(row["tenant"]),
        id=row["id"],
        version=f"{row['major']}.{row['minor']}.{row['patch']}",
        hash=row["hash"],
        files=from_json(row["files"]),
        pushed_by=UserId(row["pushed_by"]),
        pushed_at=moment(row["pushed_at"]),
        knowledge_base=None if base is None else KnowledgeBaseId(base),
        knowledge_revision=row["knowledge_revision"],
    )


def override_params(tenant: TenantId, pack_id: str, override: PackOverride) -> Params:
    return {
        "tenant": tenant,
        "pack_id": pack_id,
        "key": override.key,
        "value": json_text(override.value),
        "enabled": int(override.enabled),
        "changed_by": override.changed_by,
        "changed_at": micros(override.changed_at),
    }


def override_of(row: Row) -> PackOverride:
    return PackOverride(
        key=row["key"],
        value=from_json(row["value"]),
        enabled=bool(row["enabled"]),
        changed_by=UserId(row["changed_by"]),
        changed_at=moment(row["changed_at"]),
    )
