"""Turnkeeper: the whole turn through the embedded API, and its stores alone."""

import contextlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

from bench.contenders.contender import Contender, Said
from bench.work import WINDOW, Place, answer_to, state_after
from turnkeeper import Turnkeeper
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.event import Event
from turnkeeper.model.explanation import Explanation, Stage
from turnkeeper.model.ids import AgentId, NodeId, RunId, SessionId, TenantId, TraceId, UserId
from turnkeeper.model.lease import Lease
from turnkeeper.model.run import Finish, Run, RunInput, RunStatus
from turnkeeper.model.session import Custody, Session
from turnkeeper.model.turn import Turn
from turnkeeper.ports.agent import AgentTurn
from turnkeeper.ports.runs import AgentTerms, Intake
from turnkeeper.ports.store import Store
from turnkeeper.settings import Settings
from turnkeeper.wiring import SystemClock, open_store

AGENT = AgentId("answerer")
TENANT = TenantId("default")
USER = UserId("local")
NODE = NodeId("node_bench")
PAGE = 500

_QUIET: dict[str, Any] = {
    "lease_seconds": 7_200.0,
    "renew_seconds": 3_600.0,
    "sweep_seconds": 3_600.0,
    "anchor_seconds": 3_600.0,
}
"""Upkeep that writes comes round less often than a measurement lasts."""


class OurKeeper(Contender):
    """A trivial agent behind `keeper.chat`: intake, audit, feed and Explanation included."""

    def _address(self, place: Place) -> str:
        return os.fspath(place.file)

    def load(self) -> None:
        _load()

    async def open(self, place: Place) -> None:
        given = _QUIET if place.quiet else {}
        self._keeper = Turnkeeper.open(self._address(place), settings=Settings(), **given)

        @self._keeper.agent(AGENT)
        async def answerer(turn: AgentTurn) -> str:
            turn.state.update(state_after(turn.state.get("counter", 0)))
            return answer_to(turn.text)

        await self._keeper.__aenter__()

    async def close(self) -> None:
        await self._keeper.close()

    async def create(self) -> str:
        return (await self._keeper.create_session(agent=AGENT)).id

    async def turn(self, session: str, said: str) -> None:
        await self._keeper.chat(said, session_id=session)

    async def newest(self, session: str) -> Sequence[str]:
        last = (await self._keeper.session(session)).last_seq
        newest = await self._keeper.messages(session, after=max(0, last - WINDOW), limit=WINDOW)
        return [message.content for message in newest]

    async def messages(self, session: str) -> Sequence[Said]:
        said: list[Said] = []
        while page := await self._keeper.messages(session, after=len(said), limit=PAGE):
            said += [(message.role.value, message.content) for message in page]
        return said

    async def counter(self, session: str) -> int | None:
        # The state is an agent's own affair, so the embedded API has no way to it.
        store = self._keeper._store
        loaded = await store.sessions.load(TENANT, SessionId(session), window=1)
        return int(loaded.state.get("counter", 0))


class OurKeeperOnPostgres(OurKeeper):
    def _address(self, place: Place) -> str:
        return place.server


class OurStore(Contender):
    """The store ports alone: load what the next turn needs, commit what it adds. The run was accepted before."""

    prepares = True

    def load(self) -> None:
        _load()

    def _address(self, place: Place) -> str:
        return os.fspath(place.file)

    async def open(self, place: Place) -> None:
        self.store: Store = open_store(Settings(database=self._address(place)), NODE)
        self._clock = SystemClock()
        self._accepted: dict[str, tuple[Run, Lease]] = {}
        await self.store.database.open()

    async def close(self) -> None:
        await self.store.database.close()

    async def create(self) -> str:
        session = self._new_session()
        await self.store.sessions.create(session, _audit("create"))
        return session.id

    async def prepare(self, session: str, said: str) -> None:
        accepted = await self.store.runs.accept(self._intake(session, said))
        assert accepted.lease is not None, "one turn at a time"
        self._accepted[session] = (accepted.run, accepted.lease)

    def accepted_run(self, session: str) -> RunId:
        """For whoever commits it with other means."""
        return self._accepted.pop(session)[0].id

    async def turn(self, session: str, said: str) -> None:
        run, lease = self._accepted.pop(session)
        loaded = await self.store.sessions.load(TENANT, run.session_id, window=WINDOW)
        now = datetime.now(UTC)
        turn = Turn.of(
            run,
            loaded.session,
            asks=(),
            text=answer_to(said),
            state=state_after(loaded.state.get("counter", 0)),
            finish=Finish.DONE,
            at=now,
        )
        await self.store.runs.commit(
            turn,
            lease,
            session_id=run.session_id,
            expected_revision=loaded.session.revision,
            explanation=_explanation(run, turn.number, now),
        )

    async def newest(self, session: str) -> Sequence[str]:
        loaded = await self.store.sessions.load(TENANT, SessionId(session), window=WINDOW)
        return [message.content for message in loaded.history]

    async def messages(self, session: str) -> Sequence[Said]:
        said: list[Said] = []
        while page := await self.store.sessions.messages(TENANT, SessionId(session), after=len(said), limit=PAGE):
            said += [(message.role.value, message.content) for message in page]
        return said

    async def counter(self, session: str) -> int | None:
        loaded = await self.store.sessions.load(TENANT, SessionId(session), window=1)
        return int(loaded.state.get("counter", 0))

    def _new_session(self) -> Session:
        now = datetime.now(UTC)
        return Session(
            tenant=TENANT,
            id=SessionId(self._clock.new_id("sess")),
            owner=USER,
            agent=AGENT,
            epoch=Epoch(number=1, started_at=now, first_seq=1),
            idle_for_seconds=86_400,
            created_at=now,
            last_active_at=now,
        )

    def _intake(self, session: str, said: str) -> Intake:
        now = datetime.now(UTC)
        run = Run(
            tenant=TENANT,
            id=RunId(self._clock.new_id("run")),
            session_id=SessionId(session),
            custody=Custody.ENGINE,
            agent=AGENT,
            user=USER,
            status=RunStatus.QUEUED,
            queue_no=0,
            feed_no=0,
            trace_id=TraceId("0" * 32),
            input=RunInput(events=(Event(text=said),)),
            accepted_at=now,
            wait_until=now + timedelta(seconds=300),
        )
        return Intake(
            run=run,
            agent=None,
            sees_whole_tenant=False,
            audit=_audit("chat"),
            node=NODE,
            agents={AGENT: AgentTerms()},
            lease_seconds=60.0,
            queue_limit=32,
        )


class OurStoreOnPostgres(OurStore):
    def _address(self, place: Place) -> str:
        return place.server


def _load() -> None:
    """Which store is imported depends on the address."""
    for database in ("sqlite", "postgres"):
        with contextlib.suppress(ModuleNotFoundError):
            import_module(f"turnkeeper.stores.{database}.store")


def _audit(verb: str) -> AuditFacts:
    return AuditFacts(tenant=TENANT, at=datetime.now(UTC), verb=verb, outcome="accepted", facts={"user": USER})


_STAGES = tuple(
    Stage(name=name, began_us=100, took_us=50) for name in ("open_session", "reset", "materialize", "hand_off")
)


def _explanation(run: Run, turn: int, at: datetime) -> Explanation:
    return Explanation(
        run_id=run.id, session_id=run.session_id, status=RunStatus.COMPLETED, at=at, turn=turn, stages=_STAGES
    )
