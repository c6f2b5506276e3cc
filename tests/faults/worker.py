"""A real turnkeeper process that a test can talk to, stop at a named write, freeze and kill.

It reads one JSON command a line and answers each with one JSON line that carries the command's `tag`.
"""

import asyncio
import contextlib
import json
import os
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from turnkeeper import (
    AgentTurn,
    EffectUnknown,
    Judgement,
    Phase,
    Role,
    Settings,
    ToolResult,
    Turnkeeper,
    TurnkeeperError,
    Verdict,
)
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.binding import BindingTerms, ReplyKind, ReplyPath, Strangers
from turnkeeper.model.blob import PIECE_BYTES
from turnkeeper.model.definition import AgentTraits
from turnkeeper.model.ids import AgentId, SessionId, UnitId, UserId
from turnkeeper.model.layer import LayerTerms
from turnkeeper.model.mount import Mount, MountKind
from turnkeeper.model.outbound import DeliveryStatus
from turnkeeper.model.principal import LOCAL
from turnkeeper.model.session import SettingsChange
from turnkeeper.model.unit import Unit, UnitRole
from turnkeeper.ports.channels import Raw
from turnkeeper.settling import settings_from


class Stopper:
    """Stands still for ever when a named write comes to a named moment, so that the parent can kill the process."""

    def __init__(self, where: str | None) -> None:
        self._where = where
        self._loop: asyncio.AbstractEventLoop | None = None
        self.renewed = asyncio.Event()
        self.five_renewals = threading.Event()
        self._renewals = 0

    def __call__(self, write: str, moment: str) -> None:
        if self._where == f"{write}:{moment}":
            say({"stopped_at": self._where})
            threading.Event().wait()
        if write == "renew" and moment == "durable" and self._loop is not None:
            self._loop.call_soon_threadsafe(self.renewed.set)
            self._renewals += 1
            if self._renewals == 5:
                self.five_renewals.set()

    def listen(self) -> None:
        self._loop = asyncio.get_running_loop()


def say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def register(keeper: Turnkeeper, stopper: Stopper, go: asyncio.Event) -> None:
    @keeper.agent("counter")
    async def counter(turn: AgentTurn) -> str:
        turn.state["count"] = turn.state.get("count", 0) + 1
        return f"number {turn.state['count']}"

    @keeper.agent("held")
    async def held(turn: AgentTurn) -> str:
        say({"began": turn.text})
        await go.wait()
        return f"[{turn.text}]"

    @keeper.agent("retried", retry_safe=True)
    async def retried(turn: AgentTurn) -> str:
        say({"began": turn.text})
        await go.wait()
        return f"[{turn.text}]"

    @keeper.agent("blocking")
    async def blocking(turn: AgentTurn) -> str:
        """Blocks the event loop for longer than a lease; five renewals later it goes on."""
        say({"began": turn.text})
        stopper.five_renewals.wait()
        return "at last"

    @keeper.agent("failing")
    async def failing(turn: AgentTurn) -> str:
        raise RuntimeError("as told")

    @keeper.agent("asking")
    async def asking(turn: AgentTurn) -> str:
        return f"{await turn.ask('how many?')}!"

    @keeper.agent("talking")
    async def talking(turn: AgentTurn) -> AsyncIterator[str]:
        yield "x" * 3000
        yield "y" * 3000

    @keeper.agent("steps")
    async def steps(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        """Four steps with an effect each; before step `wait` it waits, inside of step `inside` it stays for ever."""
        wait, inside = int(turn.params.get("wait", -1)), int(turn.params.get("inside", -1))
        repeatable = bool(turn.params.get("repeatable"))
        for number in range(4):
            if number == wait:
                say({"began": turn.text})
                await go.wait()
            effect = partial(_effect, turn.params.get("file"), number, turn.effect_key(f"step-{number}"), inside)
            try:
                yield f"{await turn.once(f'step-{number}', effect, repeatable=repeatable)} "
            except EffectUnknown as unknown:
                yield f"{unknown.code} "
            yield Verdict(phase=Phase.SCORE, value=Judgement.ACCEPT, step=f"step-{number}")

    @keeper.agent("endless")
    async def endless(turn: AgentTurn) -> AsyncIterator[str]:
        yield "z" * 3000
        await asyncio.Event().wait()

    @keeper.agent("noting")
    async def noting(turn: AgentTurn) -> str:
        turn.remember(
            Unit(
                id=UnitId("staged::unit-000"),
                source_id="session",
                chunk_id="session::staged",
                role=UnitRole.DESCRIPTION,
                topic="note",
                claim=f"The note is {turn.text}.",
                slot="note",
            )
        )
        return "noted"

    @keeper.tool("connector.crm.write")
    @keeper.tool("claim.decide")
    async def do(line: str) -> str:
        return line

    @keeper.agent("clerk")
    async def clerk(turn: AgentTurn) -> str:
        tool = "claim.decide" if turn.text == "claim" else "connector.crm.write"
        result: ToolResult = await turn.call(tool, line=turn.text)
        return result.status.value

    @keeper.agent("author")
    async def author(turn: AgentTurn) -> str:
        text = await turn.substrate.emit(turn.text.encode(), path="text")
        await turn.substrate.publish({"text": text}, pointer="default/results")
        return "published"

    @keeper.agent("patient")
    async def patient(turn: AgentTurn) -> AsyncIterator[str]:
        yield "z" * 3000
        await stopper.renewed.wait()
        yield "done"


async def _effect(file: str | None, number: int, key: str, inside: int) -> str:
    """Something that can be counted: a line in a file."""
    if file is not None:
        with Path(file).open("a") as lines:
            lines.write(f"{number} {key}\n")
    if number == inside and "NEVER_INSIDE" not in os.environ:
        say({"began": f"inside of {number}"})
        await asyncio.Event().wait()
    return f"did-{number}"


async def a_day(keeper: Turnkeeper, part: str | None) -> None:
    """Everything that is ever written, in one go, or a part of it; each reply is told as soon as it is given."""
    if part is not None:
        await PARTS[part](keeper)
        say({"left": part})
        return
    hello = await _told(keeper.chat("hello", agent="counter", request_id="day-1"))
    session = hello["session_id"]
    await asyncio.gather(*(_told(keeper.chat(f"m{n}", session_id=session)) for n in range(3)))
    await _told(keeper.chat("long", session_id=session, agent="talking"))
    await _told(keeper.chat("fail", session_id=session, agent="failing"))
    asked = await _told(keeper.chat("ask", session_id=session, agent="asking"))
    await _told(keeper.chat("five", session_id=session, answers=asked.get("run_id")))
    await _told(keeper.chat("again", session_id=session, reset=True))
    await _told(keeper.reset(session))
    await _told(keeper.chat("", session_id=session))
    first = asyncio.create_task(_told(keeper.chat("long one", session_id=session, agent="endless")))
    async for frame in keeper.follow_session(session, after=0):
        if frame.type == "output.delta" and frame.data["text"].startswith("z"):
            break
    queued = await keeper.submit("never mind", session_id=session)
    await keeper.cancel(queued.run.id)
    endless = await keeper.submit("too long", session_id=(await keeper.create_session(agent="endless")).id)
    await keeper.cancel(endless.run.id)
    await asyncio.gather(first, _told(keeper.chat("stop", session_id=session, double_text="interrupt")))
    await _told(keeper.chat("wait for a renewal", session_id=session, agent="patient"))
    await _told(keeper.chat("mine", custody="client", session_id="mine"))
    await _long_runs(keeper)
    await _units_and_bases(keeper)
    await _histories(keeper)
    await _packs(keeper)
    await _doors(keeper)
    await _scope(keeper)
    await _substrate(keeper)
    await _erasure(keeper)
    await _custody(keeper)
    other = await keeper.create_session(agent="counter")
    await keeper.close_session(other.id)
    await keeper.limits.admit(other.tenant)
    await keeper._forget_requests()
    await keeper._store.runs.forget_carried(at=keeper._clock.now() + timedelta(days=1))
    await keeper._store.audit.anchor(at=keeper._clock.now())
    leaving = await keeper.submit("left behind", session_id=session, agent="held")
    say({"left": leaving.run.id})


async def _long_runs(keeper: Turnkeeper) -> None:
    """Effects, verdicts and checkpoints, and what is dropped of them once their session is long over."""
    judged = await _told(keeper.chat("judge", agent="steps", mode="stream"))
    over = await _told(keeper.chat("long", agent="steps", mode="long_running"))
    await keeper.close_session(over["session_id"])
    await keeper._store.checkpoints.forget(before=keeper._clock.now())
    await _told(keeper.chat("long again", session_id=judged["session_id"], mode="long_running"))


async def _units_and_bases(keeper: Turnkeeper) -> None:
    """What is written beside messages: units, knowledge bases, and the end and the next life of a session."""
    noted = (await _told(keeper.chat("one", agent="noting")))["session_id"]
    await _told(keeper.chat("two", session_id=noted))
    await _told(keeper.units.import_text(noted, "The ferry takes cars. The harbour opens at six."))
    (_, first), *_ = await keeper.units.list(noted)
    await keeper.units.edit(noted, "session::t0002::unit-000", {"claim": "The note is three."})
    await keeper.units.forget(noted, first.id)
    base = await keeper.bases.create("Handbook")
    _, source = await keeper.bases.add_source(base.id, "ferry", "The ferry takes dogs.")
    await keeper.bases.save_session(base.id, noted)
    await keeper.bases.mount(noted, base.id)
    await keeper.bases.remove_source(base.id, source.id)
    await keeper.bases.create("Copy", parent_id=base.id)
    idle = await keeper.create_session(agent="counter", idle_for_seconds=1)
    later = AuditFacts(tenant=idle.tenant, at=idle.expires_at, verb="expire", outcome="expired", facts={})
    await keeper._store.sessions.expire(idle.tenant, idle.id, at=idle.expires_at, audit=later)
    await keeper.close_session(noted)
    await keeper.create_session(from_session_id=noted)
    # Everything is kept: what is dropped by age would be missed by whoever looks for each run's end.
    await keeper._store.explanations.trim(idle.tenant, SessionId(noted), keep=200)


async def _histories(keeper: Turnkeeper) -> None:
    """A fork, and the end of what an agent remembers of a session that is over."""
    talked = (await _told(keeper.chat("one", agent="counter")))["session_id"]
    fork = await keeper.fork_session(talked)
    await _told(keeper.chat("two", session_id=fork.id))
    await keeper.close_session(fork.id)
    await keeper._store.histories.mark_pruned(fork.tenant, fork.id, {"messages": 2}, at=keeper._clock.now())


async def _packs(keeper: Turnkeeper) -> None:
    """A pack with knowledge, what the tenant wants otherwise, and a form that is filled, left and reset."""
    from turnkeeper.packs.demos import demo_packs

    for files in demo_packs().values():
        await keeper.packs.push(files)
    await keeper.packs.override("table-booking", "MIN_CONFIDENCE", 0.6)
    await keeper.packs.drop_override("table-booking", "MIN_CONFIDENCE")
    booking = (await _told(keeper.chat("I want to book a table", agent="counter", pack="table-booking")))["session_id"]
    await _told(keeper.chat("for four people", session_id=booking, params={"seating": "terrace"}))
    await _told(keeper.chat("/reset", session_id=booking))
    await keeper.packs.repin(booking, "help-desk")


async def _doors(keeper: Turnkeeper) -> None:
    """What comes through a channel and what goes out: to nobody, so that it fails and is tried once more."""
    await keeper.artifacts.keep(b"content", media_type="text/plain", name="note.txt")
    nowhere = ReplyPath(kind=ReplyKind.HTTP, url="http://127.0.0.1:9/", secret="whsec_c2VjcmV0")
    terms = BindingTerms(name="mail", agent=AgentId("counter"), strangers=Strangers.GUEST, reply=nowhere)
    binding = await keeper.bindings.create("email", terms)
    await keeper.bindings.change(binding.id, replace(terms, name="post"))
    await keeper.bindings.put_contact(binding.id, "ben@example.org", user="ben")
    await keeper.bindings.remove_contact(binding.id, "ben@example.org")
    delivered = await keeper.channels.deliver("email", binding.id, a_mail())
    assert delivered.ticket is not None
    await _told(keeper.reply_to(delivered.ticket))
    while not (failed := await keeper.deliveries.list(status=DeliveryStatus.FAILED)):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await keeper.deliveries.retry(failed[0].id)
    await keeper.bindings.remove(binding.id)


async def _approvals(keeper: Turnkeeper) -> None:
    """One that holds its run, one that is looked at afterwards, and one that is asked of a higher role."""
    asked = await _told(keeper.chat("write", agent="clerk"))
    (approval,) = await keeper.approvals.list(status="pending")
    assert approval.due_at is not None
    later = replace(approval, required_role=Role.OWNER, due_at=approval.due_at + timedelta(hours=1))
    await keeper._store.approvals.escalate(later, from_due=approval.due_at)
    await keeper.approvals.decide(approval.id, approve=True)
    await _told(keeper.chat("claim", session_id=asked["session_id"], agent="clerk"))
    for review in await keeper.approvals.list(status="pending"):
        await keeper.approvals.decide(review.id, approve=True)


async def _substrate(keeper: Turnkeeper) -> None:
    """Content in pieces, trees of it, a name that moves, what a run brings out, and what is cleared away."""
    large = await keeper.artifacts.keep(bytes(PIECE_BYTES + 1), name="large.bin")
    manifest, _ = await keeper.manifests.create({"large.bin": large})
    pointer = await keeper.pointers.create("results", manifest=manifest.sha256)
    await keeper.pointers.reset(pointer.id)
    await keeper.artifacts.keep(b"nobody refers to this")

    async def broken() -> AsyncIterator[bytes]:
        yield bytes(PIECE_BYTES * 2)
        raise ConnectionError

    with contextlib.suppress(ConnectionError):
        await keeper.artifacts.keep(broken())
    abandoned = keeper._store.blobs.upload(LOCAL.tenant, keeper._clock.new_id("upl").removeprefix("upl_"))
    for _ in range(2):
        await abandoned.add(b"half of it")
    session = await keeper.create_session(agent="author")
    mount = Mount(kind=MountKind.POINTER, id=pointer.id, mounted_at=session.created_at)
    await keeper.change_session(session.id, SettingsChange(mounts=(mount,)))
    await _told(keeper.chat("publish", session_id=session.id))
    await keeper.substrate.collect(grace_seconds=-60)


async def _scope(keeper: Turnkeeper) -> None:
    """What sessions inherit and from whom, how their screens look, and which one a user is in."""
    await keeper.users.create("eve", role="viewer")
    await keeper.users.change("eve", role="member")
    await keeper.definitions.put_agent("steps", AgentTraits(limits={"max_steps": 50}))
    await keeper.definitions.remove_agent("steps")
    project = await keeper.projects.create("Harbour", terms=LayerTerms(prompt="Be brief."))
    await keeper.projects.change(project.id, name="Port")
    session = await keeper.current_session("research", project_id=project.id, agent="counter")
    await keeper.scoping.save_layout(session.id, {"tab": 1})
    await keeper.scoping.drop_layout(session.id)
    await _told(keeper.chat("hello", session_id=session.id))
    await keeper.rebase_session(session.id)


async def _custody(keeper: Turnkeeper) -> None:
    """A device, keys that come and go, and a session that changes hands."""
    await keeper.chat("in the kitchen", agent="counter", custody="device")
    await keeper.device.keep()
    mine = await keeper.chat("mine", agent="counter", custody="client", session_id="mine", freshness="strict")
    session = await keeper.adopt_session("mine", mine.carried or {}, agent="counter")
    await _told(keeper.chat("ours", session_id=session.id))
    released = await keeper.release_session(session.id)
    await keeper.seals.seal(released.carried, session.tenant, session.owner, session.id)
    rotated = await keeper.seals.rotate()
    await keeper.seals.retire(rotated.id)


async def _keys(keeper: Turnkeeper) -> None:
    """A key that is made, used and revoked, and requests that are done once."""
    made = await keeper.keys.create("robot")
    await keeper.keys.admit(await keeper.keys.found(made.token))
    await keeper.keys.log_in(made.key.principal, parent=made.key.id, lasts=timedelta(days=1), until=None, trace_id=None)
    await keeper.keys.revoke(made.key.id)
    claim = await keeper.answering.claim("once-1", b"asked", about="-", principal=LOCAL)
    await keeper.answering.answered(claim, "{}", principal=LOCAL)
    refused = await keeper.answering.claim("once-2", b"asked", about="-", principal=LOCAL)
    await keeper.answering.refused(refused, principal=LOCAL)


async def _erasure(keeper: Turnkeeper) -> None:
    """A session that is archived and one that is erased, and a user with all that is theirs."""
    over, gone = [(await keeper.chat(text, agent="counter")).session_id for text in ("over", "gone")]
    await keeper.close_session(over)
    await replace(keeper._archiving, archive_seconds=0)()
    await keeper.chat("and more", session_id=gone, agent="noting")
    await keeper.erase_session(gone)
    ben = replace(LOCAL, user=UserId("ben"))
    await keeper.users.create(ben.user, role="member")
    await keeper.artifacts.keep(b"kept by Ben", principal=ben)
    await keeper.chat("mine", agent="counter", principal=ben)
    await keeper.erase_user(ben.user)


PARTS = {
    "erasure": _erasure,
    "substrate": _substrate,
    "approvals": _approvals,
    "long runs": _long_runs,
    "bases": _units_and_bases,
    "packs": _packs,
    "doors": _doors,
    "scope": _scope,
    "histories": _histories,
    "custody": _custody,
    "keys": _keys,
}
"""Parts of a day that need nothing of what comes before them."""


def a_mail() -> Raw:
    return Raw(body=b"From: ann@example.org\r\nMessage-ID: <1@example.org>\r\nSubject: Hi\r\n\r\nhello\r\n")


async def _told(work: Any) -> dict[str, Any]:
    line: dict[str, Any]
    try:
        reply = await work
    except TurnkeeperError as error:
        line = {"error": error.code}
    else:
        line = {
            "session_id": reply.session_id,
            "run_id": reply.run_id,
            "status": reply.status.value,
            "turn": reply.turn,
            "text": reply.text[:60],
            "custody": "client" if reply.carried else "engine",
        }
    say({"told": line})
    return line


async def obey(keeper: Turnkeeper, go: asyncio.Event, command: dict[str, Any]) -> dict[str, Any]:
    match command.pop("do"):
        case "chat":
            try:
                reply = await keeper.chat(command.pop("text"), **command)
            except TurnkeeperError as error:
                return {"error": error.code, "status": error.http_status}
            return {"turn": reply.turn, "text": reply.text, "session_id": reply.session_id, "run_id": reply.run_id}
        case "mail":
            terms = BindingTerms(name="mail", strangers=Strangers.GUEST, reply=ReplyPath(kind=ReplyKind.SMTP))
            binding = await keeper.bindings.create("email", replace(terms, agent=AgentId("counter")))
            await keeper.channels.deliver("email", binding.id, a_mail())
        case "follow":
            run = await keeper.run(command["run_id"])
            *_, last = [frame async for frame in keeper.follow(run)]
            return {"end": last.type.value, "text": last.data.get("text")}
        case "graph":
            _register_graph(keeper, go)
        case "let_go":
            go.set()
        case "fill":
            _fill(Path(command["path"]))
        case "free":
            Path(command["path"]).unlink()
        case "day":
            await a_day(keeper, command.get("part"))
    return {}


def _register_graph(keeper: Turnkeeper, go: asyncio.Event) -> None:
    """A graph that counts what it was told; told to wait, it does so after it has answered."""
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph

    async def count(state: MessagesState) -> dict[str, Any]:
        heard = [message for message in state["messages"] if message.type == "human"]
        return {"messages": [AIMessage(f"heard {len(heard)}")]}

    async def wait(state: MessagesState) -> dict[str, Any]:
        if state["messages"][-2].text == "wait":
            say({"began": "wait"})
            await go.wait()
        return {}

    graph = StateGraph(MessagesState).add_node("count", count).add_node("wait", wait)
    keeper.add_graph("graph", graph.add_edge(START, "count").add_edge("count", "wait"))


def _fill(path: Path) -> None:
    """Take all the space there is."""
    with path.open("wb", buffering=0) as file:
        for size in (65_536, 4_096, 512, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue


async def main(settings: Settings, where: str | None) -> None:
    stopper, go = Stopper(where), asyncio.Event()
    stopper.listen()
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    async with Turnkeeper.open(settings=settings, probe=stopper) as keeper:
        register(keeper, stopper, go)
        say({"ready": os.getpid()})
        answering: set[asyncio.Task[None]] = set()
        while line := await commands.readline():
            command = json.loads(line)
            if command["do"] == "close":
                break
            answering.add(asyncio.create_task(_answer(keeper, go, command)))
    await asyncio.gather(*answering)
    say({"closed": True})


async def _answer(keeper: Turnkeeper, go: asyncio.Event, command: dict[str, Any]) -> None:
    tag = command.pop("tag")
    say({"tag": tag, **await obey(keeper, go, command)})


if __name__ == "__main__":
    asyncio.run(main(settings_from(os.environ, device_memory="kept"), os.environ.get("STOP_AT")))
