"""Which runs are live in this process: starting them, taking the next, stopping and handing them over."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from turnkeeper.engine import HAND_OVER, LEASE_LOST, Engine, LiveRun, StopWish, World, resume_terms
from turnkeeper.errors import LeaseLost, ShuttingDown, StoreUnavailable
from turnkeeper.ledger.feed import Feed
from turnkeeper.ledger.listeners import Listeners
from turnkeeper.model.checkpoint import Checkpoint
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import AgentId, RunId, Subject, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.unit import UnitChanges
from turnkeeper.ports.plugins import KnowledgeEvent, KnowledgeEventType
from turnkeeper.ports.runs import CANCEL, Accepted
from turnkeeper.ports.telemetry import RESUMED

log = logging.getLogger(__name__)

WISHES_EVERY_SECONDS = 0.25
MOST_DUE_AT_ONCE = 256
TRIM_EVERY_RUNS = 32


class Dispatch:
    def __init__(self, world: World, engine: Engine, feed: Feed, has_letters: Callable[[], None]) -> None:
        """`has_letters` is told when a run has ended that may have something to send out."""
        self._world, self._engine, self._feed, self._has_letters = world, engine, feed, has_letters
        self._store = world.store
        self._listeners = Listeners(world.agents)
        self._live: dict[RunId, LiveRun] = {}
        self._live_in: dict[tuple[TenantId | None, Subject], LiveRun] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._left_open: set[Lease] = set()
        self._wishes_looked_at = 0.0
        self._closing = False

    def live(self, run_id: RunId) -> LiveRun | None:
        return self._live.get(run_id)

    @property
    def has_settled_everything(self) -> bool:
        """Nothing runs here, and nothing was left without a durable end."""
        return not self._live and not self._left_open

    def live_leases(self) -> list[Lease]:
        """The leases to be renewed: of every live run that is not past its deadline. Called from any thread."""
        now = self._world.clock.now()
        return [live.lease for live in list(self._live.values()) if now < live.deadline]

    def lost(self, lease: Lease) -> None:
        live = self._live.get(lease.run_id)
        if live is not None and live.lease.fence == lease.fence:
            live.stop(StopWish(how=LEASE_LOST))

    def start(self, run: Run, lease: Lease, checkpoint: Checkpoint | None) -> LiveRun:
        """Run it in a task of its own: a run does not belong to a connection."""
        live = LiveRun(run, lease, checkpoint, self._engine.deadline_of(run))
        self._live[run.id] = self._live_in[(lease.tenant, lease.subject)] = live
        live.task = asyncio.get_running_loop().create_task(self._run_to_its_end(live))
        self._own(live.task)
        return live

    async def accepted(self, accepted: Accepted) -> LiveRun | None:
        """Set a run going that was just taken in, or see to it that its turn will come."""
        run = accepted.run
        self._store.wakes.tell(run.tenant, run.subject)
        if accepted.lease is not None:
            return self.start(run, accepted.lease, accepted.checkpoint)
        if not accepted.attached:
            self._spawn(self._make_way(run, accepted.double_text))
        return self._live.get(run.id)

    async def cancel(self, run: Run) -> None:
        """Cancel a run wherever it is: in the queue, waiting, here, or on another node."""
        run = await self._store.runs.cancel(run.tenant, run.id, at=self._world.clock.now())
        self._store.wakes.tell(run.tenant, run.subject)
        if run.status is not RunStatus.RUNNING:
            return
        held = await self._store.runs.ask_to_cancel(run)
        if held is not None:
            self._pass_on(held, StopWish(how=CANCEL))

    async def take_what_is_due(self) -> None:
        """Look after everything that nobody looks after: called each second, on every node."""
        now, agents = self._world.clock.now(), self._world.agents.all().keys()
        for work in await self._store.runs.due(agents=agents, at=now, limit=MOST_DUE_AT_ONCE):
            await self._try_next(work.tenant, work.subject)
        await self._take_from_nodes_that_are_gone()
        await self._take_what_was_left_open_here()
        self._look_at_wishes()

    async def _take_from_nodes_that_are_gone(self) -> None:
        lease_seconds = self._world.settings.lease_seconds
        for node in await self._store.nodes.gone(unseen_for_seconds=lease_seconds):
            held = [work async for work in self._store.runs.held_by(node.id)]
            for work in held:
                await self._try_next(work.tenant, work.subject)
            if not held:
                await self._store.nodes.leave(node)

    async def _take_what_was_left_open_here(self) -> None:
        """Runs of this node whose end could not be made durable: once their lease has run out they are abandoned."""
        for lease in list(self._left_open):
            try:
                await self._store.runs.stop_wish(lease)
            except LeaseLost:
                self._left_open.discard(lease)
            else:
                await self.take_next(lease.tenant, lease.subject)

    async def _try_next(self, tenant: TenantId, subject: Subject) -> None:
        """What is wrong with one run must not keep the others from being taken."""
        try:
            await self.take_next(tenant, subject)
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("run not taken", extra={"subject": subject})

    async def take_next(self, tenant: TenantId, subject: Subject) -> LiveRun | None:
        if self._closing:
            return None
        claimed = await self._store.runs.claim(
            tenant,
            subject,
            node=self._world.node,
            agents=self._world.agents.terms(),
            lease_seconds=self._world.settings.lease_seconds,
            at=self._world.clock.now(),
            new_run_id=RunId(self._world.clock.new_id("run")),
            resume=resume_terms(self._world.settings),
        )
        self._store.wakes.tell(tenant, subject)
        if claimed is None:
            return None
        if claimed.run.is_resumed and claimed.checkpoint is not None:
            self._world.telemetry.session_resume(tenant, RESUMED, "")
        return self.start(claimed.run, claimed.lease, claimed.checkpoint)

    def woken(self, tenant: TenantId | None, subject: Subject | None) -> None:
        """Something happened there, maybe a wish that one of our runs stops."""
        if subject is None:
            if time.monotonic() - self._wishes_looked_at > WISHES_EVERY_SECONDS:
                self._look_at_wishes()
            return
        if live := self._live_in.get((tenant, subject)):
            self._spawn(self._look_at_wish(live))

    async def drain(self, grace_seconds: float) -> None:
        """Take nothing more, and let what runs here finish for a while."""
        self._closing = True
        running = [live.task for live in self._live.values() if live.task is not None]
        if running:
            await asyncio.wait(running, timeout=grace_seconds)

    async def close(self, grace_seconds: float) -> None:
        """Let what runs here finish for a while; what does not is handed over."""
        await self.drain(grace_seconds)
        for live in list(self._live.values()):
            live.stop(StopWish(how=HAND_OVER))
        left = [task for task in self._tasks if task is not asyncio.current_task()]
        if left:
            _, stuck = await asyncio.wait(left, timeout=max(1.0, grace_seconds))
            for task in stuck:
                task.cancel()
            # An agent that swallows its cancellation is left behind; its writes are refused by then.
            if stuck:
                await asyncio.wait(stuck, timeout=1.0)

    async def _run_to_its_end(self, live: LiveRun) -> None:
        try:
            live.end(await self._engine.perform(live))
        except StoreUnavailable as error:
            self._left_open.add(live.lease)
            live.end(error=error)
        except asyncio.CancelledError:
            live.end(error=ShuttingDown())
            raise
        except Exception as error:
            log.exception("run broke", extra={"run_id": live.run.id})
            self._left_open.add(live.lease)
            live.end(error=error)
        finally:
            self._forget(live)
        self._store.wakes.tell(live.lease.tenant, live.lease.subject)
        if live.run.input.reply_to is not None:
            self._has_letters()
        with contextlib.suppress(StoreUnavailable):
            if live.queued_behind:
                await self.take_next(live.lease.tenant, live.lease.subject)
            await self._trim_explanations(live.run)
        await self._tell_of_units(live.run, live.unit_changes)

    async def _tell_of_units(self, run: Run, changes: UnitChanges) -> None:
        if changes.is_empty:
            return
        event = KnowledgeEvent(
            type=KnowledgeEventType.UNITS_COMMITTED,
            tenant=run.tenant,
            session_id=run.session_id,
            run_id=run.id,
            units=changes.added,
        )
        if changes.added:
            await self._listeners.tell(run.agent, event)
        if gone := changes.gone:
            event = replace(event, type=KnowledgeEventType.UNITS_GONE, units=(), gone=gone)
            await self._listeners.tell(run.agent, event)

    def tell(self, agent: AgentId, event: KnowledgeEvent) -> None:
        """Tell an agent something that is durable already; nobody waits for it to have listened."""
        self._spawn(self._listeners.tell(agent, event))

    async def _trim_explanations(self, run: Run) -> None:
        """Once in a while, so that the single turn does not pay for it."""
        if run.custody.is_ours and run.queue_no % TRIM_EVERY_RUNS == 0:
            keep = self._world.settings.explanations
            await self._store.explanations.trim(run.tenant, run.session_id, keep=keep)

    def _forget(self, live: LiveRun) -> None:
        self._live.pop(live.run.id, None)
        place = (live.lease.tenant, live.lease.subject)
        if self._live_in.get(place) is live:
            del self._live_in[place]

    async def _make_way(self, newcomer: Run, how: DoubleText) -> None:
        """Stop the run in front if the newcomer wants that; then try to take its place.

        A merge is decided by the store at once, since it is possible only while nothing was put out. For the others
        the holder gets a moment to stop by itself before its fence is raised.
        """
        try:
            if how.stops_the_running_run:
                held = await self._store.runs.ask_to_give_way(newcomer, how)
                if held is not None:
                    await self._supersede(held, newcomer, how)
            await self.take_next(newcomer.tenant, newcomer.subject)
        except StoreUnavailable:
            log.warning("way not made", extra={"run_id": newcomer.id})
        except Exception:
            log.exception("way not made", extra={"run_id": newcomer.id})

    async def _supersede(self, held: Lease, newcomer: Run, how: DoubleText) -> None:
        now = self._world.clock.now
        if how is DoubleText.MERGE:
            if await self._store.runs.supersede(held, how=how, by=newcomer.id, at=now(), explanation=None):
                self._pass_on(held, StopWish(how=LEASE_LOST))
            return
        self._pass_on(held, StopWish(how=how.value, by=newcomer.id))
        if not await self._released(held, within=self._world.settings.stop_seconds):
            await self._store.runs.supersede(held, how=how, by=newcomer.id, at=now(), explanation=None)

    async def _released(self, held: Lease, *, within: float) -> bool:
        with self._feed.listening(held.tenant, held.subject) as happened:
            until = time.monotonic() + within
            while (left := until - time.monotonic()) > 0:
                happened.clear()
                try:
                    await self._store.runs.stop_wish(held)
                except LeaseLost:
                    return True
                await happened.wait(min(left, WISHES_EVERY_SECONDS))
        return False

    def _pass_on(self, held: Lease, wish: StopWish) -> None:
        """Tell the holder: at once if it is here, else by a hint to the node that has it."""
        live = self._live.get(held.run_id)
        if live is not None and live.lease.fence == held.fence:
            live.stop(wish)
        else:
            self._store.wakes.tell(held.tenant, held.subject)

    def _look_at_wishes(self) -> None:
        self._wishes_looked_at = time.monotonic()
        for live in list(self._live.values()):
            self._spawn(self._look_at_wish(live))

    async def _look_at_wish(self, live: LiveRun) -> None:
        try:
            wish = await self._store.runs.stop_wish(live.lease)
        except LeaseLost:
            live.stop(StopWish(how=LEASE_LOST))
        except StoreUnavailable:
            return
        else:
            if wish is not None:
                live.stop(StopWish(how=wish[0], by=wish[1]))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._own(asyncio.get_running_loop().create_task(work))

    def _own(self, task: asyncio.Task[None]) -> None:
        """Every task has an owner: it is held until it ends."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
