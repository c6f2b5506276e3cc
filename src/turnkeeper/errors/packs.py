"""Packs that are missing, faulty, or others than a session has."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.errors.base import TurnkeeperError
from turnkeeper.model.ids import SessionId


class PackNotFound(TurnkeeperError):
    code = "pack_not_found"
    http_status = 404
    title = "No such pack"

    def __init__(self, ref: str) -> None:
        super().__init__(f"There is no pack {ref!r}. Push it (turnkeeper packs push), or list those that there are.")


class PackImmutable(TurnkeeperError):
    code = "pack_immutable"
    http_status = 409
    title = "This version of the pack is there already, with other files"

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"{ref!r} was pushed before, with other files, and a pushed pack never changes. Raise `version` in "
            "pack.yaml, then push again."
        )


class PackInvalid(TurnkeeperError):
    """`details` names each fault by file, line, pointer and message."""

    code = "pack_invalid"
    http_status = 422
    title = "The pack has faults"

    def __init__(self, faults: Sequence[Mapping[str, Any]]) -> None:
        counted = "one fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(
            f"The pack has {counted}, so nothing of it was taken. Correct what details names.", details=faults
        )


class PackVersionMismatch(TurnkeeperError):
    code = "pack_version_mismatch"
    http_status = 409
    title = "The session is pinned to another pack"

    def __init__(
        self, session_id: SessionId, *, pinned: Sequence[str], requested: Sequence[str], pointer: str = "/pack"
    ) -> None:
        held = f"is pinned to {', '.join(pinned)}" if pinned else "has begun without a pack"
        super().__init__(
            f"Session {session_id!r} {held}, and the request names {', '.join(requested)}. Leave the packs out where "
            "you can, begin a new session, or repin this one.",
            details=_pin_differences(pinned, requested, pointer),
        )


def _pin_differences(pinned: Sequence[str], requested: Sequence[str], pointer: str) -> list[dict[str, Any]]:
    """Each pack that is asked for otherwise than it is pinned, that is new, or that was left out."""
    held = {ref.partition("@")[0]: ref for ref in pinned}
    asked = {ref.partition("@")[0]: ref for ref in requested}
    names = [*asked, *(name for name in held if name not in asked)]
    return [
        {
            "pointer": pointer,
            "message": "is not what the session is pinned to",
            "pack_id": name,
            "pinned": held.get(name),
            "requested": asked.get(name),
        }
        for name in names
        if held.get(name) != asked.get(name)
    ]


class PackIntegrityError(TurnkeeperError):
    code = "pack_integrity_error"
    http_status = 409
    title = "The pack is not the one that the session was pinned to"

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"{ref!r} has other files than those that the session was pinned to. Send `carried` as it was received, or "
            "begin a new session."
        )
