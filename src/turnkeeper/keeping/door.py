"""The door that every message comes through, whatever its face: it is taken in or refused, counted and audited."""

import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from turnkeeper.errors import StoreUnavailable, TurnkeeperError
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.envelope import Envelope
from turnkeeper.model.ids import HOUSE, SessionId, TraceId
from turnkeeper.model.principal import Principal
from turnkeeper.model.run import BUS, Run
from turnkeeper.ports.audit import AuditStore
from turnkeeper.ports.channels import Channels
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.identities import Directory
from turnkeeper.ports.runs import Accepted
from turnkeeper.ports.telemetry import ACCEPTED, REFUSED, REJECTED, RESUMED, Accepting, Telemetry
from turnkeeper.settings import Settings
from turnkeeper.steps.intake import TakeIn, TakenIn
from turnkeeper.steps.receive import Inbound, receive

log = logging.getLogger(__name__)

MESSAGES = frozenset({"chat", "answer", "invoke", "deliver"})
"""What is counted as an envelope; everything else is a command."""

Live = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """An accepted message: what was made of it, before it is answered."""

    run: Run
    created: bool
    replaced_session_id: SessionId | None
    replaced_reason: str | None
    attached: bool
    live: Live | None
    is_answer: bool


class Door:
    """`ready` makes this node known before its first message; `start` has an accepted run walked through the steps."""

    def __init__(
        self,
        take_in: TakeIn,
        audit: AuditStore,
        channels: Channels,
        telemetry: Telemetry,
        clock: Clock,
        settings: Settings,
        directory: Directory,
        *,
        check_open: Callable[[], None],
        ready: Callable[[], Awaitable[None]],
        start: Callable[[TakenIn], Awaitable[Live | None]],
        artifact: Callable[[str, Principal], Awaitable[Artifact]],
    ) -> None:
        self._take_in, self._audit, self._channels, self._telemetry = take_in, audit, channels, telemetry
        self._clock, self._settings, self._directory = clock, settings, directory
        self._check_open, self._ready, self._start, self._artifact = check_open, ready, start, artifact
        self.unaudited = 0

    async def accept(
        self,
        inbound: Inbound,
        principal: Principal,
        *,
        attachments: tuple[str, ...] = (),
        verb: str | None = None,
        about: Mapping[str, Any] | None = None,
        began: float | None = None,
    ) -> Ticket:
        """Take in what a face has written down. What is refused is audited under its verb, and `about` what it was.

        `attachments` are ids of artifacts that go with a message. `began` is when its first byte came, by
        `time.perf_counter`.
        """
        began = time.perf_counter() if began is None else began
        verb = verb or ("chat" if inbound.command is None else inbound.command.value)
        try:
            taken = await self._taken_in(replace(inbound, verb=verb), principal, attachments)
        except TurnkeeperError as error:
            facts = {"channel": inbound.channel, "mode": str(inbound.mode), **(about or {})}
            trace_id = inbound.trace_id
            await self.refused(error, principal=principal, verb=verb, trace_id=trace_id, began=began, **facts)
            self._tell_of_resume(inbound, principal, error)
            raise
        if verb in MESSAGES:
            self._tell_of_acceptance(taken.accepted, inbound, time.perf_counter() - began)
            self._tell_of_resume(inbound, principal, None, replaced=taken.replaced_reason)
        return Ticket(
            run=taken.accepted.run,
            created=taken.created,
            replaced_session_id=taken.replaced,
            replaced_reason=taken.replaced_reason,
            attached=taken.accepted.attached,
            live=await self._start(taken),
            is_answer=inbound.answers is not None,
        )

    async def _taken_in(self, inbound: Inbound, principal: Principal, attachments: tuple[str, ...]) -> TakenIn:
        stage = "receive"
        try:
            self._check_open()
            principal = await self._directory.admitted(principal)
            if attachments:
                kept = [await self._artifact(each, principal) for each in attachments]
                inbound = replace(inbound, attachments=tuple(artifact.attached for artifact in kept))
            with self._receiving(inbound, principal):
                envelope = self.envelope(inbound, principal)
            stage = "intake"
            await self._ready()
            with self._span("intake", envelope):
                return await self._take_in(envelope)
        except TurnkeeperError as error:
            error.stage = error.stage or stage
            raise

    def envelope(self, inbound: Inbound, principal: Principal) -> Envelope:
        """Raises EnvelopeInvalid with every fault in it."""
        trace_id = TraceId(os.urandom(16).hex())
        return receive(inbound, principal, now=self._clock.now(), trace_id=trace_id, settings=self._settings)

    async def refused(
        self,
        error: TurnkeeperError,
        *,
        principal: Principal | None,
        verb: str,
        trace_id: str | None = None,
        began: float | None = None,
        **about: Any,
    ) -> None:
        """Record once that something was refused, and `about` what. When the store is gone, count what is missing."""
        if error.audited:
            return
        error.audited = True
        facts: dict[str, Any] = {"trace_id": trace_id, "stage": error.stage, **about}
        if principal is not None:
            facts |= {"user": principal.user, "role": principal.role.value}
        tenant = principal.tenant if principal else HOUSE
        if verb in MESSAGES:
            seconds = 0.0 if began is None else time.perf_counter() - began
            self._telemetry.accepting(
                Accepting(
                    tenant=tenant,
                    channel=self._known(about.get("channel")),
                    mode=about["mode"] if about.get("mode") in ("stream", "batch", "long_running") else "unknown",
                    outcome=REJECTED,
                    reason=error.code,
                    seconds=seconds,
                )
            )
        try:
            await self._audit.record(
                AuditFacts(tenant=tenant, at=self._clock.now(), verb=verb, outcome=error.code, facts=facts)
            )
        except StoreUnavailable:
            self.unaudited += 1

    def _known(self, channel: object) -> str:
        """A name that a stranger made up is no name for a counter."""
        is_known = isinstance(channel, str) and (channel == BUS or channel in self._channels.names())
        return str(channel) if is_known else "unknown"

    def _tell_of_acceptance(self, accepted: Accepted, inbound: Inbound, seconds: float) -> None:
        run = accepted.run
        self._telemetry.accepting(
            Accepting(
                tenant=run.tenant,
                channel=self._known(inbound.channel),
                mode=run.mode.value,
                outcome=ACCEPTED,
                reason="",
                seconds=seconds,
            )
        )
        for event in run.input.events:
            for warning in event.warnings:
                self._telemetry.event_warning(self._known(inbound.channel), warning.code)

    def _tell_of_resume(
        self,
        inbound: Inbound,
        principal: Principal,
        error: TurnkeeperError | None,
        *,
        replaced: str | None = None,
    ) -> None:
        """A session that was replaced by a new one was not gone on with."""
        if inbound.session_id is not None and inbound.command is None:
            reason = error.code if error else f"session_{replaced}" if replaced else ""
            self._telemetry.session_resume(principal.tenant, REFUSED if reason else RESUMED, reason)

    def _receiving(self, inbound: Inbound, principal: Principal) -> AbstractContextManager[object]:
        """What was prepared has been received before, with a span of its own."""
        if inbound.prepared is not None or inbound.trace_id is None:
            return nullcontext()
        facts = {"tenant_id": principal.tenant, "channel": inbound.channel}
        return self._telemetry.span("receive", TraceId(inbound.trace_id), inbound.trace, facts)

    def _span(self, name: str, envelope: Envelope) -> AbstractContextManager[object]:
        facts = {"tenant_id": envelope.principal.tenant, "channel": envelope.channel, "mode": envelope.mode.value}
        return self._telemetry.span(name, envelope.trace_id, envelope.trace, facts)
