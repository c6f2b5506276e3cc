"""What goes out through a channel: written down with the turn that says it, and sent until its end is known.

A delivery has one id in every attempt. What was refused before it was handed over is tried again. What may have been
taken is tried again only where the other side knows deliveries by their id; elsewhere it is `unknown`, and nobody
repeats it unless asked to.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from turnkeeper.errors import BindingNotFound, StoreUnavailable, VerifyRejected
from turnkeeper.model.binding import Binding, ReplyKind
from turnkeeper.model.ids import DeliveryId, NodeId
from turnkeeper.model.outbound import Delivery, DeliveryStatus
from turnkeeper.model.run import Run, RunError
from turnkeeper.ports.bindings import BindingStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.outbox import OutboxStore
from turnkeeper.ports.sender import Attempt, Sender, Sent

log = logging.getLogger(__name__)

MOST_AT_ONCE = 16
LEFT_BEHIND = "A node was sending it and is gone; it may have gone out, or not."
CUT_SHORT = "This node went away, or the other side was too slow, while it was being sent."


def letters(run: Run, text: str, *, at: datetime, clock: Clock) -> tuple[Delivery, ...]:
    """What this text becomes where the message came through a channel that is answered later; nothing elsewhere."""
    if run.input.reply_to is None or not text.strip():
        return ()
    return (
        Delivery(
            tenant=run.tenant,
            id=DeliveryId(clock.new_id("dlv")),
            session_id=run.session_id,
            run_id=run.id,
            to=run.input.reply_to,
            text=text,
            created_at=at,
            due_at=at,
        ),
    )


def refusals(run: Run, error: RunError | None, *, at: datetime, clock: Clock) -> tuple[Delivery, ...]:
    """The reasons of a critic, who wants the sender to say it otherwise. Other failures are not told outside."""
    if error is None or error.code != VerifyRejected.code:
        return ()
    reasons = " ".join(str(each.get("message") or "") for each in error.details)
    return letters(run, reasons, at=at, clock=clock)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRules:
    """So many attempts, the second this long after the first, then twice as long each time up to the most.

    Attempts are counted on when a delivery is sent again by hand: it then has as many as are left to the next round.
    """

    attempts: int = 8
    first_seconds: float = 5.0
    most_seconds: float = 3600.0
    send_seconds: float = 30.0

    def pause_after(self, attempt: int) -> timedelta:
        earlier = min((attempt - 1) % self.attempts, 30)
        return timedelta(seconds=min(self.most_seconds, self.first_seconds * 2.0**earlier))

    def after(self, attempt: Attempt, delivery: Delivery, now: datetime, *, may_repeat: bool) -> Delivery:
        """What becomes of a delivery after this attempt at it."""
        sent = attempt.sent
        may_come_again = sent is Sent.NOT_YET or (sent is Sent.UNSURE and may_repeat)
        if may_come_again and delivery.attempts % self.attempts:
            pause = self.pause_after(delivery.attempts)
            if attempt.wait_seconds is not None:
                asked = min(max(attempt.wait_seconds, 0.0), self.most_seconds)
                pause = max(pause, timedelta(seconds=asked))
            return replace(delivery, status=DeliveryStatus.PENDING, due_at=now + pause, error=attempt.detail)
        status = {Sent.DONE: DeliveryStatus.SENT, Sent.UNSURE: DeliveryStatus.UNKNOWN}.get(sent, DeliveryStatus.FAILED)
        return replace(delivery, status=status, due_at=now, error=attempt.detail or None, ended_at=now)


class Outbox:
    """Sends what is due. Runs on every node; a claim keeps two from sending the same."""

    def __init__(
        self,
        store: OutboxStore,
        bindings: BindingStore,
        senders: Mapping[ReplyKind, Sender],
        clock: Clock,
        node: NodeId,
        rules: OutboxRules,
    ) -> None:
        self._store, self._bindings, self._senders = store, bindings, senders
        self._clock, self._node, self._rules = clock, node, rules
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closing = False

    async def send_what_is_due(self) -> None:
        """Begin to send as much as there is room for; called each second, and when something was just written."""
        room = 0 if self._is_closing else MOST_AT_ONCE - len(self._tasks)
        if room <= 0:
            return
        due = await self._store.claim(
            node=self._node, at=self._clock.now(), lease_seconds=2 * self._rules.send_seconds, limit=room
        )
        for delivery in due:
            task = asyncio.get_running_loop().create_task(self._carry(delivery))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self, grace_seconds: float) -> None:
        """Let what is being sent come to its end for a while."""
        self._is_closing = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_seconds)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _carry(self, delivery: Delivery) -> None:
        try:
            binding = await self._binding(delivery)
            sender = None if binding is None else self._senders.get(binding.terms.reply.kind)
            may_repeat = sender is not None and sender.may_repeat
            if delivery.status is DeliveryStatus.SENDING and not may_repeat:
                attempt = Attempt(sent=Sent.UNSURE, detail=LEFT_BEHIND)
            elif binding is None or sender is None:
                attempt = Attempt(sent=Sent.REFUSED, detail="The binding is gone, or no longer sends replies.")
            else:
                attempt = await self._attempt(delivery, binding, sender)
            await self._settle(delivery, attempt, may_repeat=may_repeat)
        except StoreUnavailable:
            log.warning("delivery not settled", extra={"delivery_id": delivery.id})
        except Exception:
            log.exception("delivery broke", extra={"delivery_id": delivery.id})

    async def _attempt(self, delivery: Delivery, binding: Binding, sender: Sender) -> Attempt:
        try:
            async with asyncio.timeout(self._rules.send_seconds):
                return await sender.send(delivery, binding)
        except TimeoutError:
            return Attempt(sent=Sent.UNSURE, detail=CUT_SHORT)
        except asyncio.CancelledError:
            cut = Attempt(sent=Sent.UNSURE, detail=CUT_SHORT)
            await self._settle(delivery, cut, may_repeat=sender.may_repeat)
            raise

    async def _binding(self, delivery: Delivery) -> Binding | None:
        try:
            return await self._bindings.get(delivery.tenant, delivery.to.binding)
        except BindingNotFound:
            return None

    async def _settle(self, delivery: Delivery, attempt: Attempt, *, may_repeat: bool) -> None:
        after = self._rules.after(attempt, delivery, self._clock.now(), may_repeat=may_repeat)
        is_settled = await self._store.settle(after, node=self._node)
        told = {"delivery_id": after.id, "status": after.status.value, "attempts": after.attempts}
        log.info("delivery attempted" if is_settled else "delivery lost to another node", extra=told)
