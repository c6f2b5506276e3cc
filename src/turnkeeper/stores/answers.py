"""Requests and their answers, as parameters and results that are the same for every backend."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from turnkeeper.errors import DuplicateRequest, RequestUnderWay
from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.ports.runs import RequestKey
from turnkeeper.stores.rows import Params, micros


def claim_params(
    tenant: TenantId, user: UserId, request: RequestKey, about: str, at: datetime, stale: datetime
) -> Params:
    return {
        "tenant": tenant,
        "user": user,
        "key": request.key,
        "body_hash": request.body_hash,
        "run_id": about,
        "now": micros(at),
        "stale": micros(stale),
    }


def claimed_params(tenant: TenantId, user: UserId, key: str, at: datetime) -> Params:
    return {"tenant": tenant, "user": user, "key": key, "at": micros(at)}


def answered(found: Mapping[str, Any] | None, request: RequestKey) -> str:
    """What a claim that came too late is told."""
    if found is not None and bytes(found["body_hash"]) != request.body_hash:
        raise DuplicateRequest(request.key)
    if found is None or found["answer"] is None:
        raise RequestUnderWay(request.key)
    answer: str = found["answer"]
    return answer
