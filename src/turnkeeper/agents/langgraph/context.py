"""What a graph is told about its session in each turn: to be read, never to be believed by a tool."""

from typing import Any

from turnkeeper.model.run_context import RunContext

SESSION_CONTEXT = "session_context"


def session_context(context: RunContext) -> dict[str, Any]:
    """Plain JSON. What the run may really do is in the turn itself; changing this changes nothing of it."""
    return {
        "session_id": context.session_id,
        "turn": context.turn,
        "epoch": context.epoch,
        "context_sha256": context.context_sha256,
        "policy": context.inherited.policy.value,
        "model": context.model_profile.chat_model if context.model_profile else context.preferred.model,
        "mounts": [{"kind": mount.kind.value, "id": mount.id} for mount in context.mounts],
        "safety_mode": context.safety_mode.value,
        "limits": dict(context.budget.most),
        "packs": [pin.ref for pin in context.packs],
    }
