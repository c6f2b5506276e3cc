"""What we ask of a database about the processes that share it."""

from collections.abc import Sequence
from typing import Protocol

from turnkeeper.model.node import Node


class NodeStore(Protocol):
    async def beat(self, node: Node) -> None:
        """Say that this node lives and which agents it has."""

    async def leave(self, node: Node) -> None:
        """Say that this node is gone."""

    async def gone(self, *, unseen_for_seconds: float) -> Sequence[Node]:
        """The nodes that did not leave and were not heard of for so long, by the database's clock."""

    async def living(self, *, seen_within_seconds: float) -> Sequence[Node]:
        """The nodes that were heard of lately, by the database's clock."""
