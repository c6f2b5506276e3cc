"""What sessions inherit, pin and do without, changed from a distance."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from turnkeeper.client.part import Part
from turnkeeper.client.sessions import LISTS
from turnkeeper.client.shapes import Session, SessionScope, session_of
from turnkeeper.model.mount import MountRef

if TYPE_CHECKING:
    from turnkeeper.keeping.scoping import Pin, Wanted

PLAIN = ("title", "double_text", "idle_for_seconds", "module", "objective", "status")


class Scoping(Part):
    async def change(self, session_id: str, wanted: "Wanted", *, expected_version: int | None = None) -> Session:
        """All of it at once, or nothing. Raises MountNotFound, MountExcluded, SessionEnded or InvalidTransition."""
        body: dict[str, Any] = {name: value for name in PLAIN if (value := getattr(wanted, name)) is not None} | {
            LISTS[kind]: [pin.id for pin in pins] for kind, pins in wanted.exactly.items()
        }
        if wanted.reason is not None:
            body["close_reason"] = wanted.reason
        if wanted.pin or wanted.unpin:
            body["mounts"] = {"pin": [_pin(pin) for pin in wanted.pin], "unpin": [_ref(ref) for ref in wanted.unpin]}
        return await self._patched(session_id, body, expected_version)

    async def pin(self, session_id: str, *pins: "Pin", expected_version: int | None = None) -> Session:
        """Mount these for this session."""
        body = {"mounts": {"pin": [_pin(pin) for pin in pins]}}
        return await self._patched(session_id, body, expected_version)

    async def unpin(self, session_id: str, *refs: MountRef, expected_version: int | None = None) -> Session:
        """Do without these, at once."""
        body = {"mounts": {"unpin": [_ref(ref) for ref in refs]}}
        return await self._patched(session_id, body, expected_version)

    async def rebase(self, session_id: str, *, expected_version: int | None = None) -> Session:
        """Inherit again, as the layers are now; pins and what was removed stay. Raises SessionEnded."""
        return session_of(await self._ask("POST", "sessions", session_id, "rebase", if_match=expected_version))

    async def scope(self, session: Session) -> SessionScope:
        """How far it reaches now, with all its mounts and what became of each."""
        return session_of(await self._ask("GET", "sessions", session.id)).scope

    async def layout(self, session_id: str) -> Any:
        """None where none was saved."""
        return (await self._ask("GET", "sessions", session_id, "resume-view", query={"messages": 1}))["layout"]

    async def save_layout(self, session_id: str, layout: Any) -> None:
        """Keep how a screen looks; the last one counts. Raises LayoutTooLarge or SessionEnded."""
        await self._ask("PUT", "sessions", session_id, "layout", body={"layout": layout})

    async def drop_layout(self, session_id: str) -> None:
        """Nothing else is lost with it. Raises SessionEnded."""
        await self._ask("DELETE", "sessions", session_id, "layout")

    async def _patched(self, session_id: str, body: Mapping[str, Any], version: int | None) -> Session:
        return session_of(await self._ask("PATCH", "sessions", session_id, body=body, if_match=version))


def _pin(pin: "Pin") -> dict[str, str]:
    return {"kind": pin.kind.value, "id": pin.id, "mode": pin.mode.value}


def _ref(ref: MountRef) -> dict[str, str]:
    return {"kind": ref.kind.value, "id": ref.id}
