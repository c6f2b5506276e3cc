"""Artifacts, manifests and pointers: what is not there, what does not fit, and what moved first."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.errors.base import TurnkeeperError


class ManifestNotFound(TurnkeeperError):
    code = "manifest_not_found"
    http_status = 404
    title = "No such manifest"

    def __init__(self, sha256: str) -> None:
        super().__init__(f"There is no manifest {sha256!r}. Make it first, or look at the history of its pointer.")


class ManifestInvalid(TurnkeeperError):
    """`details` names each entry that is at fault."""

    code = "manifest_invalid"
    http_status = 422
    title = "The manifest cannot be made"

    def __init__(self, reason: str, details: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(f"{reason} Nothing was kept.", details=details)


class ArtifactsMissing(TurnkeeperError):
    """`details` names each path whose content is not there; what somebody else keeps is not there either."""

    code = "artifacts_missing"
    http_status = 400
    title = "Content of the manifest is missing"

    def __init__(self, missing: Sequence[Mapping[str, Any]]) -> None:
        paths = ", ".join(repr(each["path"]) for each in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        super().__init__(f"No such content for {paths}{more}. Keep these artifacts first.", details=missing)


class PointerNotFound(TurnkeeperError):
    """Also raised for one that was deleted, and for one of another tenant."""

    code = "pointer_not_found"
    http_status = 404
    title = "No such pointer"

    def __init__(self, pointer: str) -> None:
        super().__init__(f"There is no pointer {pointer!r}. The pointers of your tenant can be listed.")


class PointerExists(TurnkeeperError):
    code = "pointer_exists"
    http_status = 409
    title = "There is a pointer of this name"

    def __init__(self, namespace: str, name: str) -> None:
        super().__init__(f"There is a pointer {namespace}/{name} already. Move that one, or choose another name.")


class PointerMoved(TurnkeeperError):
    """`current` is where it stands, None when it is empty."""

    code = "pointer_moved"
    http_status = 409
    title = "The pointer stands elsewhere"

    def __init__(self, pointer: str, current: str | None) -> None:
        super().__init__(
            f"The pointer {pointer!r} is not where you expect it, so nothing was changed. Look at where it stands "
            "now, and move it from there.",
            current=current,
        )


class PointerFrozen(TurnkeeperError):
    code = "pointer_frozen"
    http_status = 409
    title = "A snapshot does not move"

    def __init__(self, pointer: str) -> None:
        super().__init__(f"The pointer {pointer!r} is a snapshot and stays where it is. Make a new one instead.")


class RangeNotSatisfiable(TurnkeeperError):
    code = "range_not_satisfiable"
    http_status = 416
    title = "There is no such part of the content"

    def __init__(self, size: int) -> None:
        super().__init__(
            f"The content has {size} bytes, and none of them is in the range asked for. Ask for a range within it, or "
            "for all of it without one.",
            size=size,
        )


class UploadLost(TurnkeeperError):
    code = "upload_lost"
    http_status = 409
    retryable = True
    title = "The upload took too long"

    def __init__(self) -> None:
        super().__init__("What had come of this upload was cleared away before it was complete. Send it again.")
