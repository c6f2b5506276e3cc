"""Layers, users, definitions and contexts to rows and back, the same for every backend."""

from typing import Any

import msgspec

from turnkeeper.model.definition import AgentDefinition, AgentTraits, ModelProfile, ModelTraits
from turnkeeper.model.ids import AgentId, LayerId, TenantId, UserId
from turnkeeper.model.layer import Layer, LayerStatus, LayerTerms
from turnkeeper.model.principal import Role
from turnkeeper.model.scope import Level
from turnkeeper.model.user import User, UserStatus
from turnkeeper.stores.rows import Params, Row, json_text, micros, moment

_decode_terms = msgspec.json.Decoder(LayerTerms).decode
_decode_traits = msgspec.json.Decoder(AgentTraits).decode
_decode_model = msgspec.json.Decoder(ModelTraits).decode
_ORDER = {Level.TENANT: 0, Level.PROJECT: 1, Level.OBJECTIVE: 2}
LAST = "~"
"""Behind every id."""


def layer_params(layer: Layer) -> Params:
    return {
        "tenant": layer.tenant,
        "level": layer.level.value,
        "id": layer.id,
        "project_id": layer.project_id,
        "name": layer.name,
        "status": layer.status.value,
        "revision": layer.revision,
        "data": json_text(layer.terms),
        **_written(layer),
    }


def layer_of(row: Row) -> Layer:
    return Layer(
        tenant=TenantId(row["tenant"]),
        level=Level(row["level"]),
        id=LayerId(row["id"]),
        project_id=row["project_id"],
        name=row["name"],
        status=LayerStatus(row["status"]),
        revision=row["revision"],
        terms=_decode_terms(row["data"]),
        created_by=UserId(row["created_by"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
    )


def general_first(layer: Layer) -> int:
    return _ORDER[layer.level]


def user_params(user: User) -> Params:
    return {
        "tenant": user.tenant,
        "id": user.id,
        "name": user.name,
        "role": user.role.value,
        "status": user.status.value,
        "version": user.version,
        **_written(user),
    }


def user_of(row: Row) -> User:
    return User(
        tenant=TenantId(row["tenant"]),
        id=UserId(row["id"]),
        name=row["name"],
        role=Role(row["role"]),
        status=UserStatus(row["status"]),
        version=row["version"],
        created_by=UserId(row["created_by"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
    )


def definition_params(kept: AgentDefinition | ModelProfile, expected_version: int | None) -> Params:
    params = {"tenant": kept.tenant, "id": kept.id, "data": json_text(kept.traits), **_written(kept)}
    return params | {"version": expected_version}


def agent_of(row: Row) -> AgentDefinition:
    return AgentDefinition(
        tenant=TenantId(row["tenant"]),
        id=AgentId(row["id"]),
        traits=_decode_traits(row["data"]),
        version=row["version"],
        created_by=UserId(row["created_by"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
    )


def model_of(row: Row) -> ModelProfile:
    return ModelProfile(
        tenant=TenantId(row["tenant"]),
        id=row["id"],
        traits=_decode_model(row["data"]),
        version=row["version"],
        created_by=UserId(row["created_by"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
    )


def _written(kept: Any) -> Params:
    return {
        "created_by": kept.created_by,
        "created_at": micros(kept.created_at),
        "updated_at": micros(kept.updated_at),
    }
