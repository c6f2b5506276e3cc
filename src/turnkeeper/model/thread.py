"""Where the memory of a graph stands: its thread, and the checkpoint in it that the next run begins from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.model.ids import AgentId, SessionId, TenantId, UserId

LANGGRAPH = "langgraph"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadName:
    """One thread for each epoch of a session and each graph that is asked in it.

    Where a client keeps the session, it belongs to its user as well.
    """

    tenant: TenantId
    session_id: SessionId
    epoch: int
    agent: AgentId
    user: UserId | None = None

    def __str__(self) -> str:
        name = f"{threads_prefix(self.tenant, self.session_id)}{self.epoch}:{_part(self.agent)}"
        return name if self.user is None else f"{name}:{_part(self.user)}"

    @classmethod
    def of(cls, thread: str) -> "ThreadName | None":
        """None for a thread that is none of ours."""
        tenant, _, rest = thread.partition(":")
        session_id, _, rest = rest.partition(":")
        epoch, _, rest = rest.partition(":")
        agent, _, user = rest.partition(":")
        if not (tenant and session_id and epoch.isdecimal() and agent):
            return None
        return cls(
            tenant=TenantId(_whole(tenant)),
            session_id=SessionId(_whole(session_id)),
            epoch=int(epoch),
            agent=AgentId(_whole(agent)),
            user=UserId(_whole(user)) if user else None,
        )


def threads_prefix(tenant: TenantId, session_id: SessionId) -> str:
    """What the names of all threads of a session begin with, and of no other session."""
    return f"{_part(tenant)}:{_part(session_id)}:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadHead:
    """The checkpoint of the whole graph, and by name those of parts that remember something for themselves.

    It is of one agent: another graph in the same session does not begin from it. It knows all turns up to `heard`,
    and turn number `turn`. Of a run that waits, `interrupts` are what it asks, by their ids, and `asked` is how many
    questions of the run came before them.
    """

    agent: AgentId
    thread: str
    checkpoint: str
    turn: int
    heard: int
    parts: Mapping[str, str] = field(default_factory=dict)
    interrupts: Mapping[str, str] = field(default_factory=dict)
    asked: int = 0

    @property
    def told(self) -> dict[str, Any]:
        """As the session keeps it; what says nothing is left out."""
        said = {
            "kind": LANGGRAPH,
            "agent": self.agent,
            "thread": self.thread,
            "checkpoint": self.checkpoint,
            "turn": self.turn,
            "heard": self.heard,
            "parts": dict(self.parts),
            "interrupts": dict(self.interrupts),
            "asked": self.asked,
        }
        return {name: value for name, value in said.items() if value not in ({}, 0) or name in ("turn", "heard")}

    @classmethod
    def of(cls, told: Mapping[str, Any] | None) -> "ThreadHead | None":
        """None where there is none, or where it is that of another kind of agent."""
        if told is None or told.get("kind") != LANGGRAPH:
            return None
        return cls(
            agent=AgentId(str(told.get("agent", ""))),
            thread=str(told["thread"]),
            checkpoint=str(told["checkpoint"]),
            turn=int(told["turn"]),
            heard=int(told["heard"]),
            parts=dict(told.get("parts", {})),
            interrupts=dict(told.get("interrupts", {})),
            asked=int(told.get("asked", 0)),
        )

    def has_heard(self, turn: int) -> bool:
        return turn <= self.heard or turn == self.turn

    @property
    def places(self) -> dict[str, str]:
        """Every checkpoint that belongs to it, by the part of the graph; the whole has no name."""
        return {"": self.checkpoint, **self.parts}


def _part(name: str) -> str:
    return name.replace("%", "%25").replace(":", "%3A")


def _whole(part: str) -> str:
    return part.replace("%3A", ":").replace("%25", "%")
