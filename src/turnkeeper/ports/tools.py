"""What an agent can have done for it: tools that are plain functions, and what such a function is handed."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from turnkeeper.model.ids import RunId, SessionId, TenantId, UserId
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.scope import SessionScope
from turnkeeper.model.tool import Resource, ResourceKind, ToolResult, ToolSpec
from turnkeeper.ports.substrate import Substrate


@dataclass(frozen=True, slots=True)
class Reaches:
    """Marks a parameter of a tool that names a resource; the session must have it before the tool is called."""

    kind: ResourceKind


PointerRef = Annotated[str, Reaches(ResourceKind.POINTER)]
ManifestRef = Annotated[str, Reaches(ResourceKind.MANIFEST)]
ArtifactRef = Annotated[str, Reaches(ResourceKind.ARTIFACT)]
KnowledgeBaseRef = Annotated[str, Reaches(ResourceKind.KNOWLEDGE_BASE)]


class ToolCall(Protocol):
    """What a tool knows of the call: whose it is comes from the run, never from the arguments.

    Whatever it reads through here is checked against the session at that moment.
    """

    @property
    def tenant(self) -> TenantId: ...

    @property
    def session_id(self) -> SessionId: ...

    @property
    def run_id(self) -> RunId: ...

    @property
    def user(self) -> UserId: ...

    @property
    def call_id(self) -> str: ...

    @property
    def effect_key(self) -> str:
        """What names this call to the outside world, the same in every attempt: an idempotency key."""

    @property
    def scope(self) -> SessionScope: ...

    async def check(self, action: str, *resources: Resource) -> None:
        """Raises Denied unless the session may do this to these right now."""

    @property
    def substrate(self) -> Substrate:
        """Files behind mounted pointers, and publishing: what the session does not have is denied here too."""

    async def search(self, knowledge_base: str, words: str, *, limit: int = 10) -> Sequence[FoundUnit]:
        """What a mounted knowledge base knows of these words. Raises Denied when it is not mounted."""


class Tool(Protocol):
    @property
    def spec(self) -> ToolSpec: ...

    @property
    def needs(self) -> frozenset[ResourceKind]:
        """The kinds of resources that it cannot do without."""

    def read(self, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[Resource, ...]]:
        """The arguments as the function takes them, and the resources that they name. Raises ValueError."""

    async def run(self, call: ToolCall, arguments: Mapping[str, Any]) -> Any:
        """May raise anything."""


class Tools(Protocol):
    """The tools that there are."""

    def get(self, name: str) -> Tool | None: ...

    def all(self) -> Sequence[Tool]:
        """In the order of their names."""


class ToolRegistry(Tools, Protocol):
    """The tools that are registered in this process."""

    def add(self, tool: Tool) -> None:
        """Raises ValueError when there is one of this name."""


class RunTools(Protocol):
    """The tools of one run, as its agent has them."""

    def offered(self) -> Awaitable[tuple[ToolSpec, ...]]:
        """Those that the session permits right now; what a tool needs a person for is said on it."""

    def substrate(self, turn: Any) -> Substrate:
        """Artifacts, manifests and pointers, as far as the session reaches; where a gate says so a person is asked."""

    def call(self, turn: Any, name: str, arguments: Mapping[str, Any], call_id: str) -> Awaitable[ToolResult]:
        """Validate, scope, policy, approval, execute, record."""
