"""What a token that is bound to a session may ask for: its session, and what that reaches, and nothing else."""

from fastapi import Request

from turnkeeper.errors import ScopeDenied
from turnkeeper.keeper import Turnkeeper
from turnkeeper.model.principal import Principal
from turnkeeper.model.tool import Denial, Resource, ResourceKind

READS = {
    "read_artifact": ("artifact_id", ResourceKind.ARTIFACT),
    "read_artifact_content": ("artifact_id", ResourceKind.ARTIFACT),
    "look_at_artifact_content": ("artifact_id", ResourceKind.ARTIFACT),
    "read_manifest": ("sha256", ResourceKind.MANIFEST),
    "list_entries": ("sha256", ResourceKind.MANIFEST),
    "read_pointer": ("pointer_id", ResourceKind.POINTER),
    "resolve_pointer": ("pointer_id", ResourceKind.POINTER),
    "read_knowledge_base": ("base_id", ResourceKind.KNOWLEDGE_BASE),
    "list_units_of_base": ("base_id", ResourceKind.KNOWLEDGE_BASE),
}
"""The routes that name one resource; the check is that of the tools. An artifact is named by its hash."""


OWN = ("read_me", "log_out")
"""Who one is, and leaving."""


async def check_bound(route: str, request: Request, principal: Principal, keeper: Turnkeeper) -> None:
    """Raises ScopeDenied. What is not known to be harmless is denied."""
    if principal.session_id is None:
        return
    if "session_id" in request.path_params and request.method in ("GET", "HEAD"):
        return  # Whether it is its own, the session itself says.
    if route in OWN:
        return
    if route not in READS:
        raise ScopeDenied(Denial.POLICY_DENIED)
    name, kind = READS[route]
    action = f"substrate.{kind.value}.read" if kind is not ResourceKind.KNOWLEDGE_BASE else "knowledge.search"
    id = request.path_params[name]
    named_by_hash = kind in (ResourceKind.ARTIFACT, ResourceKind.MANIFEST)
    await keeper.check_bound(principal, action, Resource(kind=kind, id=id.lower() if named_by_hash else id))
