"""Turnkeeper keeps conversations: you bring the agent, it brings everything that must be true around each turn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnkeeper.agents.critics import HeardWell
    from turnkeeper.errors import EffectUnknown, TurnkeeperError
    from turnkeeper.keeper import Turnkeeper
    from turnkeeper.model.ids import TenantId, UserId
    from turnkeeper.model.principal import Principal, Role
    from turnkeeper.model.reply import Reply
    from turnkeeper.model.tool import ToolResult, ToolSpec
    from turnkeeper.model.verdict import Judgement, Phase, Verdict
    from turnkeeper.ports.agent import AgentTurn
    from turnkeeper.ports.tools import ArtifactRef, KnowledgeBaseRef, ManifestRef, PointerRef, ToolCall
    from turnkeeper.settings import Settings

__all__ = [
    "AgentTurn",
    "ArtifactRef",
    "EffectUnknown",
    "HeardWell",
    "Judgement",
    "KnowledgeBaseRef",
    "ManifestRef",
    "Phase",
    "PointerRef",
    "Principal",
    "Reply",
    "Role",
    "Settings",
    "TenantId",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Turnkeeper",
    "TurnkeeperError",
    "UserId",
    "Verdict",
]

_HOMES = {
    "AgentTurn": "ports.agent",
    "ArtifactRef": "ports.tools",
    "EffectUnknown": "errors",
    "HeardWell": "agents.critics",
    "Judgement": "model.verdict",
    "KnowledgeBaseRef": "ports.tools",
    "ManifestRef": "ports.tools",
    "Phase": "model.verdict",
    "PointerRef": "ports.tools",
    "Principal": "model.principal",
    "Reply": "model.reply",
    "Role": "model.principal",
    "Settings": "settings",
    "TenantId": "model.ids",
    "ToolCall": "ports.tools",
    "ToolResult": "model.tool",
    "ToolSpec": "model.tool",
    "Turnkeeper": "keeper",
    "TurnkeeperError": "errors",
    "UserId": "model.ids",
    "Verdict": "model.verdict",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """What is shown here is loaded when it is first looked at: who needs a part of turnkeeper loads that part."""
        if name not in _HOMES:
            raise AttributeError(f"turnkeeper has no {name!r}")
        found = getattr(import_module(f"turnkeeper.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
