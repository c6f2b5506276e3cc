"""Sessions at a distance: beginning, reading, changing, giving away and erasing them."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from turnkeeper.client.erasure import Erasing, Receipt
from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part, reading
from turnkeeper.client.shapes import (
    Dialogue,
    PendingApproval,
    Released,
    ResumeView,
    Run,
    Session,
    SessionEvent,
    StateAt,
    read,
    session_of,
)
from turnkeeper.client.transport import Ask, at, new_key
from turnkeeper.model.message import Message
from turnkeeper.model.mount import MountKind, MountMode
from turnkeeper.model.output import Output
from turnkeeper.model.purpose import Module, PolicyTemplate
from turnkeeper.model.session import SettingsChange

if TYPE_CHECKING:
    from turnkeeper.keeping.scoping import Pin
    from turnkeeper.ports.sessions import SessionOrder, Sought

LISTS = {
    MountKind.POINTER: "mounted_pointers",
    MountKind.KNOWLEDGE_BASE: "mounted_kbs",
    MountKind.ARTIFACT: "pinned_artifacts",
}
CHANGEABLE = {"status", "title", "double_text", "idle_for_seconds", "reason"}
CREATED = 201


class Sessions(Part):
    async def create_session(
        self,
        *,
        agent: str | None = None,
        pack: str | None = None,
        title: str | None = None,
        plugins: Any = None,
        model: Any = None,
        level: Any = None,
        idle_for_seconds: int | None = None,
        from_session_id: str | None = None,
        module: Module | str | None = None,
        project_id: str | None = None,
        objective_id: str | None = None,
        objective: str | None = None,
        policy: PolicyTemplate | str | None = None,
        model_profile: str | None = None,
        backend: str | None = None,
        pins: "Iterable[Pin]" = (),
        without: Iterable[MountKind] = (),
        layout: Any = None,
        request_id: str | None = None,
    ) -> Session:
        """Begin a session without a message; with `from_session_id` it continues a finished one.

        Raises ValueError for pins that cannot be asked for like this: a fixed one, or one of a kind that is taken over.
        """
        asked = {
            "agent": agent,
            "pack": pack,
            "title": title,
            "plugins": plugins,
            "model": model,
            "level": level,
            "idle_for_seconds": idle_for_seconds,
            "from_session_id": from_session_id,
            "module": module,
            "project_id": project_id,
            "objective_id": objective_id,
            "objective": objective,
            "policy": policy,
            "model_profile": model_profile,
            "backend": backend,
            "layout": layout,
            **_lists(tuple(pins), set(without), continues=from_session_id is not None),
        }
        body = {name: value for name, value in asked.items() if value is not None}
        return session_of(await self._ask("POST", "sessions", body=body, key=request_id or new_key()))

    async def current_session(
        self,
        module: Module | str,
        *,
        project_id: str | None = None,
        objective_id: str | None = None,
        agent: str | None = None,
    ) -> Session:
        """The session that this user was in last, in this module and project; a new one where none of them lives."""
        session, _ = await self.enter_session(module, project_id=project_id, objective_id=objective_id, agent=agent)
        return session

    async def enter_session(
        self,
        module: Module | str,
        *,
        project_id: str | None = None,
        objective_id: str | None = None,
        agent: str | None = None,
    ) -> tuple[Session, bool]:
        """`current_session`, and whether it began with this."""
        asked = {"module": module, "project_id": project_id, "objective_id": objective_id, "agent": agent}
        body = {name: value for name, value in asked.items() if value is not None}
        answer = await self._transport.answer(Ask(method="PUT", path=at("sessions", "current"), body=body))
        return session_of(answer.document), answer.status == CREATED

    async def session(self, session_id: str) -> Session:
        """Raises SessionNotFound, also when it belongs to somebody else."""
        return session_of(await self._ask("GET", "sessions", session_id))

    async def sessions(
        self,
        *,
        before: str | None = None,
        limit: int = 50,
        sought: "Sought | None" = None,
        order: "SessionOrder | None" = None,
    ) -> Page[Session]:
        """Newest first: one's own, or all of the tenant's for its owner and admins.

        By when they began, unless another order is given. Each comes with its `opening`.
        """
        return await self._page(session_of, "sessions", cursor=before, limit=limit, order=order, **_sought(sought))

    async def count_sessions(self, *, sought: "Sought | None" = None) -> int:
        """How many `sessions` would give without an end."""
        page = await self._page(session_of, "sessions", cursor=None, limit=1, **_sought(sought))
        return page.total or 0

    async def session_events(self, session_id: str, *, after: int = 0, limit: int = 100) -> Page[SessionEvent]:
        """What happened to the session itself, oldest first, each with who did it."""
        of = reading(SessionEvent)
        return await self._page(of, "sessions", session_id, "events", cursor=after or None, limit=limit)

    async def counts_of(self, session: Session) -> Mapping[str, int]:
        """How many runs a session had, and how many artifacts came out of it."""
        counts: Mapping[str, int] = (await self._ask("GET", "sessions", session.id))["counts"]
        return counts

    async def resume_view(self, session_id: str, *, messages: int = 20) -> ResumeView:
        """Everything that somebody needs who comes back to a topic, in one call."""
        told = await self._ask("GET", "sessions", session_id, "resume-view", query={"messages": messages})
        return ResumeView(
            session=session_of(told["session"]),
            layout=told["layout"],
            messages=read(told["messages"], list[Message]),
            runs=read(told["runs"], list[Run]),
            outputs=read(told["outputs"], list[Output]),
            approvals=read(told["pending_approvals"], list[PendingApproval]),
        )

    async def messages(
        self, session_id: str, *, after: int = 0, before: int | None = None, limit: int = 100
    ) -> Page[Message]:
        """What was said, oldest first, from just after a seq; with `before` the newest of those before that seq."""
        if before is None:
            of = reading(Message)
            return await self._page(of, "sessions", session_id, "messages", cursor=after or None, limit=limit)

        async def earlier(seq: str) -> Page[Message]:
            return await self.messages(session_id, before=int(seq), limit=limit)

        query = {"before": before, "limit": limit}
        told = await self._ask("GET", "sessions", session_id, "messages", query=query)
        return Page(read(told["items"], list[Message]), told.get("next"), earlier)

    async def dialogue(self, session_id: str) -> Dialogue:
        """What a session holds about its intent: the answers so far, what is missing, and what is asked."""
        told = await self._ask("GET", "sessions", session_id, "intent")
        forms = {code: {"fields": fields} for code, fields in told["forms"].items()}
        return read({**told, "intent": told["code"], "context": told["fields"], "forms": forms}, Dialogue)

    async def state_at(self, session_id: str, turn: int) -> StateAt:
        """A session as it stood after one of its turns, less what was forgotten since. Raises TurnNotFound."""
        told = await self._ask("GET", "sessions", session_id, "turns", turn)
        units = [each["unit"] for each in told["units"]]
        epoch = {"number": told["epoch"]}
        return read({**told, "epoch": epoch, "units": units, "agent_head": told["thread"]}, StateAt)

    async def fork_session(
        self, session_id: str, *, at_turn: int | None = None, title: str | None = None, request_id: str | None = None
    ) -> Session:
        """Go on from a turn of a session, the last one unless another is named, in a new session of the same owner."""
        body = {"at_turn": at_turn, "title": title}
        return session_of(
            await self._ask("POST", "sessions", session_id, "fork", body=body, key=request_id or new_key())
        )

    async def adopt_session(
        self,
        session_id: str,
        carried: str,
        *,
        agent: str | None = None,
        title: str | None = None,
        request_id: str | None = None,
    ) -> Session:
        """Have a session kept by the server that was kept here under this id, with its newest sealed state.

        It is a new one, with an id of its own.
        """
        body = {"session_id": session_id, "carried": carried, "agent": agent, "title": title}
        return session_of(await self._ask("POST", "sessions", "adopt", body=body, key=request_id or new_key()))

    async def release_session(self, session_id: str) -> Released:
        """Close a session and have what it holds, to go on with it in client custody under the same id."""
        told = await self._ask("POST", "sessions", session_id, "release", key=None, is_repeatable=True)
        session = await self.session(session_id)
        return Released(session=session, carried=told["carried"], warnings=tuple(told["warnings"]))

    def export_session(self, session_id: str) -> AsyncGenerator[bytes, None]:
        """All that is kept of a session, as a zip archive that comes piece by piece."""
        return self._content("sessions", session_id, "export")

    def export_user(self, user: str) -> AsyncGenerator[bytes, None]:
        """The same of a user, with each of its sessions in a folder of its own."""
        return self._content("users", user, "export")

    async def erase_session(self, session_id: str) -> Receipt:
        """Stop what runs in a session, and erase it everywhere."""
        return await Erasing(self._transport).session(session_id)

    async def erase_user(self, user: str) -> Receipt:
        """Erase a user with all its sessions."""
        return await Erasing(self._transport).user(user)

    async def pause_session(self, session_id: str, *, expected_version: int | None = None) -> Session:
        """Lay a session aside; the next message on it resumes it."""
        return await self._changed(session_id, "pause", if_match=expected_version)

    async def resume_session(self, session_id: str, *, expected_version: int | None = None) -> Session:
        """Take up a paused session again, as if a message had come."""
        return await self._changed(session_id, "resume", if_match=expected_version)

    async def rebase_session(self, session_id: str, *, expected_version: int | None = None) -> Session:
        """Inherit again, as the layers are now."""
        return await self._changed(session_id, "rebase", if_match=expected_version)

    async def close_session(
        self, session_id: str, *, reason: str = "closed", expected_version: int | None = None
    ) -> Session:
        """Take no more messages, and cancel what is under way. It stays readable. Closing twice does no harm."""
        body = {"reason": reason}
        return await self._changed(session_id, "close", body=body, if_match=expected_version)

    async def change_session(
        self, session_id: str, change: SettingsChange, *, expected_version: int | None = None
    ) -> Session:
        """Raises ValueError for what is changed by a verb of its own: mounts and purpose by `scoping.change`, packs by
        `packs.repin`.
        """
        plain = SettingsChange()
        wanted = {
            each.name: value
            for each in fields(change)
            if (value := getattr(change, each.name)) != getattr(plain, each.name)
        }
        if unfit := sorted(wanted.keys() - CHANGEABLE):
            raise ValueError(f"{unfit[0]} is changed by scoping.change, packs.repin or rebase_session")
        if "reason" in wanted:
            wanted["close_reason"] = wanted.pop("reason")
        return session_of(await self._ask("PATCH", "sessions", session_id, body=wanted, if_match=expected_version))

    async def _changed(self, session_id: str, verb: str, **about: Any) -> Session:
        return session_of(await self._ask("POST", "sessions", session_id, verb, **about))


def _lists(pins: "Sequence[Pin]", without: set[MountKind], *, continues: bool) -> dict[str, list[str]]:
    kinds = {pin.kind for pin in pins}
    if any(pin.mode is MountMode.FIXED for pin in pins):
        raise ValueError("a pin that is fixed is made with scoping.pin, once the session is there")
    if continues and not kinds <= without:
        raise ValueError("pins of a kind replace those that are taken over; name the kind in `without`")
    return {LISTS[kind]: [pin.id for pin in pins if pin.kind is kind] for kind in kinds | without}


def _sought(sought: "Sought | None") -> dict[str, Any]:
    return {} if sought is None else {each.name: getattr(sought, each.name) for each in fields(sought)}
