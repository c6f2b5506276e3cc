"""What an agent tells about its own doing, so that a run can be explained whatever its end."""

from collections.abc import Mapping
from typing import Any, Protocol

from turnkeeper.model.graph import EdgeType, NodeType


class Notes(Protocol):
    """Every call is cheap and never fails. A node that was begun and not ended shows as `unfinished`."""

    def begin(
        self,
        id: str,
        type: NodeType,
        label: str,
        *,
        frame_id: str | None = None,
        input: object = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Something begins: it is put down with the moment. The first frame is the root; `input` is shortened."""

    def end(
        self,
        id: str,
        status: str,
        *,
        output: object = None,
        error: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """It is over. `metadata` joins what was said at its beginning."""

    def edge(self, type: EdgeType, source: str, target: str) -> None:
        """Saying the same twice says it once; an edge to something that was never begun is left out."""

    def ran(self, kind: str, plugin: str) -> None:
        """A plugin of this kind really ran; the last one of a kind that succeeded becomes the next default."""

    def answered(
        self,
        status: str,
        *,
        document: Mapping[str, Any] | None = None,
        model: str | None = None,
        level: int | None = None,
    ) -> None:
        """How the answer stands: `answered` or `no-context`, and its parts as a document."""

    def warn(self, code: str, detail: Mapping[str, Any] | None = None) -> None:
        """Something that the caller should know and that does not fail the turn."""
