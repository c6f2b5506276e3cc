"""Units, knowledge bases and their sources."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.errors.base import TurnkeeperError
from turnkeeper.model.ids import KnowledgeBaseId, SourceId, UnitId
from turnkeeper.model.unit import UnitStatus


class UnitTextInvalid(TurnkeeperError):
    """`details` names each fault by code, line, column, field and message; of very many, those that stand first."""

    code = "unit_text_invalid"
    http_status = 422
    title = "The text of the units has faults"

    def __init__(self, faults: Sequence[Mapping[str, Any]], *, count: int) -> None:
        counted = "one fault" if count == 1 else f"{count} faults"
        super().__init__(
            f"The text of the units has {counted}, so nothing of it was taken. Correct what details names.",
            details=faults,
            faults=count,
        )


class UnitNotFound(TurnkeeperError):
    code = "unit_not_found"
    http_status = 404
    title = "No such unit"

    def __init__(self, unit_id: UnitId) -> None:
        super().__init__(f"There is no unit {unit_id!r} in this session. Its units can be listed.")


class UnitNotCurrent(TurnkeeperError):
    code = "unit_not_current"
    http_status = 409
    title = "The unit is no longer in use"

    def __init__(self, unit_id: UnitId, status: UnitStatus) -> None:
        super().__init__(f"Unit {unit_id!r} is {status.value}, so it cannot be edited. Edit what took its place.")


class KnowledgeBaseNotFound(TurnkeeperError):
    code = "knowledge_base_not_found"
    http_status = 404
    title = "No such knowledge base"

    def __init__(self, base_id: KnowledgeBaseId) -> None:
        super().__init__(f"There is no knowledge base {base_id!r}. Create it, or list those that there are.")


class SourceNotFound(TurnkeeperError):
    code = "source_not_found"
    http_status = 404
    title = "No such source"

    def __init__(self, source_id: SourceId) -> None:
        super().__init__(f"There is no source {source_id!r} in this knowledge base. Its sources can be listed.")


class SourceTooLarge(TurnkeeperError):
    code = "source_too_large"
    http_status = 413
    title = "The source is too large"

    def __init__(self, size: str, most: int) -> None:
        super().__init__(f"The source has {size}; at most {most} are taken. Split it into several sources.")


class KnowledgeBaseFull(TurnkeeperError):
    code = "knowledge_base_full"
    http_status = 409
    title = "The knowledge base is full"

    def __init__(self, base_id: KnowledgeBaseId, *, sources: int, units: int) -> None:
        super().__init__(
            f"Knowledge base {base_id!r} holds at most {sources} sources and {units} units. Remove a source, or use a "
            "second base: a session can mount several."
        )


class RevisionMoved(TurnkeeperError):
    code = "revision_moved"
    http_status = 412
    title = "It was changed in the meantime"

    def __init__(self, id: str, *, expected: int, actual: int) -> None:
        super().__init__(
            f"{id!r} is at revision {actual}, not {expected}. Look at it again, then repeat the "
            "change with the new revision."
        )
