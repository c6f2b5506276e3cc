"""Messages of an app or a web page that talks to us directly: JSON, with typing signals and attachments by hash."""

from typing import Any

from turnkeeper.channels.json_bodies import read_object
from turnkeeper.channels.normalizing import SIGNALS, attachments_in, info, role_warning, signals_of, text_event
from turnkeeper.channels.shapes import Shape
from turnkeeper.channels.signatures import is_vouched
from turnkeeper.model.event import Event
from turnkeeper.ports.channels import Arrival, KnownTerms, Raw, Said, SettingKind, Terms

MOST_ADDRESS = 320
_NO_SIGNALS = frozenset(("message", "locale", "user", "attachments", "delivery_id"))


class AppChatChannel:
    name = "app_chat"
    known_terms = KnownTerms(settings={"tolerance_seconds": SettingKind.COUNT})

    def read(self, raw: Raw, terms: Terms, *, now: float) -> Arrival:
        vouched = is_vouched(raw, terms, now=now)
        read = read_object(raw.body)
        body = Shape(read, "")
        address = body.text("user", required=True, most=MOST_ADDRESS)
        message = body.text("message") or ""
        locale = body.text("locale", most=64)
        delivery_id = body.text("delivery_id", most=255)
        attachments = attachments_in(body)
        signals = {name: value for name, value in read.items() if name not in _NO_SIGNALS}
        _check_signals(body)
        if "name" in read:
            body.fault("name", "is not a signal; `user` says who speaks")
        if address is not None and not address.strip():
            body.fault("user", "is empty")
        says_something = bool(message.strip() or attachments)
        if not says_something and "typing" not in body:
            body.fault("message", "is empty, and nothing is attached")
        body.settle()
        said = Said(message=message, locale=locale, signals=signals, attachments=attachments)
        return Arrival(
            address=address or "",
            said=said if says_something else None,
            delivery_id=delivery_id or None,
            is_vouched=vouched,
        )

    def normalize(self, said: Said) -> Event:
        signals: dict[str, Any] = signals_of(said)
        shape = Shape(signals, SIGNALS)
        hint = _check_signals(shape)
        shape.settle()
        signals.setdefault("attachments_count", len(said.attachments))
        warnings = [*role_warning(said, hint)]
        if not said.message.strip() and said.attachments:
            warnings.append(info("empty_message_with_attachments", "Something is attached, and nothing was said."))
        return text_event(self.name, said, signals=signals, warnings=warnings)


def _check_signals(shape: Shape) -> str | None:
    """Notes what is wrong, and gives the hint at a role."""
    if not shape.is_flag("typing"):
        typing = shape.object("typing")
        if typing is not None:
            typing.number("duration_ms")
    return shape.text("user_role_hint", most=255)
