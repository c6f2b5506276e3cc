"""Turnkeeper keeps conversations: you bring the agent, it brings everything that must be true around each turn."""

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
