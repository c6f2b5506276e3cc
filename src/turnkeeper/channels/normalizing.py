"""What is the same on every channel when an Event is made of what was said."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from turnkeeper.channels.plain import plain, plain_text
from turnkeeper.channels.shapes import Shape, below
from turnkeeper.errors import ChannelPayloadInvalid
from turnkeeper.model.event import MOST_ATTACHMENTS, Attachment, Event, EventType, EventWarning, Severity
from turnkeeper.ports.channels import Said

SIGNALS = "/input/context/channel_signals"
MESSAGE = "/input/message"
_SHA256 = re.compile("[0-9a-f]{64}")


def signals_of(said: Said) -> dict[str, Any]:
    """A plain copy of the signals. Raises ChannelPayloadInvalid."""
    if "name" in said.signals:
        raise ChannelPayloadInvalid.at(below(SIGNALS, "name"), "is the name of the channel, so no signal has it")
    signals: dict[str, Any] = plain(said.signals, SIGNALS)
    return signals


@contextmanager
def told_of_body() -> Iterator[None]:
    """Signals that were read out of a body are faulty there: what is raised inside points into the body."""
    try:
        yield
    except ChannelPayloadInvalid as error:
        details = [
            {**each, "pointer": str(each["pointer"]).removeprefix(SIGNALS).removeprefix("/input")}
            for each in error.details
        ]
        raise ChannelPayloadInvalid(error.detail.replace(SIGNALS, ""), details=details) from None


def text_event(
    channel: str,
    said: Said,
    *,
    signals: Mapping[str, Any],
    warnings: Sequence[EventWarning],
    confidence: float | None = None,
) -> Event:
    """A text_message of this channel. Raises ChannelPayloadInvalid without a text and without anything attached."""
    if not said.message.strip() and not said.attachments:
        raise ChannelPayloadInvalid.at(MESSAGE, "is empty, and nothing is attached")
    return Event(
        type=EventType.TEXT_MESSAGE,
        text=plain_text(said.message),
        confidence=confidence,
        locale=_locale(said),
        attachments=said.attachments,
        metadata={"channel": {"name": channel, **signals}},
        warnings=(*warnings, *locale_warning(said), *_repair_warning(said)),
    )


def structured_event(
    channel: str, type_: EventType, said: Said, *, signals: Mapping[str, Any], warnings: Sequence[EventWarning]
) -> Event:
    """A structured event of this channel: its payload is what was sent. A message that came along stays its text."""
    return Event(
        type=type_,
        text=plain_text(said.message),
        payload={} if said.payload is None else plain(said.payload, "/payload"),
        locale=_locale(said),
        attachments=said.attachments,
        metadata={"channel": {"name": channel, **signals}},
        warnings=(*warnings, *_repair_warning(said)),
    )


def info(code: str, detail: str) -> EventWarning:
    return EventWarning(code=code, severity=Severity.INFO, detail=detail)


def warn(code: str, detail: str) -> EventWarning:
    return EventWarning(code=code, severity=Severity.WARN, detail=detail)


def locale_warning(said: Said) -> Sequence[EventWarning]:
    return () if said.locale else (info("locale_missing", "The sender did not say in which language it is."),)


def role_warning(said: Said, hint: str | None) -> Sequence[EventWarning]:
    """A hint is never believed; that it differs from what is known of the user is worth a look."""
    if hint is None or said.user_role is None or hint == said.user_role:
        return ()
    return (warn("role_hint_mismatch", "The sender hints at another role than the user has."),)


def attachments_in(body: Shape) -> tuple[Attachment, ...]:
    """What a sender has attached by hash; faults are noted in the shape."""
    read = []
    for each in body.objects("attachments", most=MOST_ATTACHMENTS):
        texts = {name: each.text(name, required=True) for name in ("artifact_id", "media_type", "sha256", "uri")}
        if texts["sha256"] is not None and not _SHA256.fullmatch(texts["sha256"]):
            each.fault("sha256", "must be 64 digits of lower-case hex")
        read.append(Attachment(**{name: text or "" for name, text in texts.items()}))
    return tuple(read)


def setting(settings: Mapping[str, Any], name: str, default: int) -> int:
    """A whole number of the settings of a binding. Raises ChannelPayloadInvalid, as only the binding can be mended."""
    value = settings.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ChannelPayloadInvalid.at(f"/settings/{name}", "of the binding must be a whole number from 0 up")
    return value


def _locale(said: Said) -> str | None:
    return plain_text(said.locale) if said.locale else None


def _repair_warning(said: Said) -> Sequence[EventWarning]:
    if plain_text(said.message) == said.message:
        return ()
    return (info("text_repaired", "Characters that no store can keep were replaced."),)
