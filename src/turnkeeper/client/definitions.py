"""How agents may be used and which models they think with, defined from a distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part
from turnkeeper.client.shapes import read
from turnkeeper.model.definition import AgentTraits, ModelTraits
from turnkeeper.model.ids import AgentId


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    id: AgentId
    traits: AgentTraits
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAgent:
    """An agent by its code, its definition, or both."""

    id: AgentId
    has_code: bool
    definition: AgentDefinition | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    id: str
    traits: ModelTraits
    version: int


class Definitions(Part):
    async def agents(self) -> Sequence[KnownAgent]:
        """Those whose code is registered on a living node, and those that are defined, by their ids."""
        return await self._all(_agent_of, "agents")

    async def agent(self, id: str) -> KnownAgent:
        """Raises DefinitionNotFound when there is neither code nor definition."""
        return _agent_of(await self._ask("GET", "agents", id))

    async def put_agent(self, id: str, traits: AgentTraits, *, expected_version: int | None = None) -> AgentDefinition:
        """From the next session on, and with a rebase. Raises RevisionMoved, NotAllowed or EnvelopeInvalid."""
        body = msgspec.to_builtins(traits)
        return _definition_of(await self._ask("PUT", "agents", id, body=body, if_match=expected_version))

    async def remove_agent(self, id: str) -> None:
        """Its code stays. Raises DefinitionNotFound."""
        await self._ask("DELETE", "agents", id)

    async def models(self, *, cursor: str | None = None, limit: int = 50) -> Page[ModelProfile]:
        return await self._page(_model_of, "models", cursor=cursor, limit=limit)

    async def model(self, id: str) -> ModelProfile:
        """Raises DefinitionNotFound."""
        return _model_of(await self._ask("GET", "models", id))

    async def put_model(self, id: str, traits: ModelTraits, *, expected_version: int | None = None) -> ModelProfile:
        """Its models and params hold from the next run on. Raises RevisionMoved, NotAllowed or EnvelopeInvalid."""
        body = msgspec.to_builtins(traits)
        return _model_of(await self._ask("PUT", "models", id, body=body, if_match=expected_version))

    async def remove_model(self, id: str) -> None:
        """Raises DefinitionNotFound."""
        await self._ask("DELETE", "models", id)


def _definition_of(told: Mapping[str, Any]) -> AgentDefinition:
    return AgentDefinition(id=told["id"], traits=read(told, AgentTraits), version=told["version"])


def _agent_of(told: Mapping[str, Any]) -> KnownAgent:
    definition = None if told["version"] is None else _definition_of(told)
    return KnownAgent(id=told["id"], has_code=told["has_code"], definition=definition)


def _model_of(told: Mapping[str, Any]) -> ModelProfile:
    return ModelProfile(id=told["id"], traits=read(told, ModelTraits), version=told["version"])
