"""Mail as it travels: raw RFC 5322 with parts of every kind, out of which come new words, attachments and a thread.

Nothing that a machine wrote starts a run, so that two machines never answer each other (RFC 3834). An answer goes to
the sender and not to Reply-To: whoever forges a sender would else have the answers sent to himself.
"""

import email.message
import email.parser
import email.policy
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.channels.html_text import text_of_html
from turnkeeper.channels.mail_headers import Headers, authentication, date_of, sender_of, why_automatic
from turnkeeper.channels.mail_text import decoded, new_words, unflowed
from turnkeeper.channels.normalizing import SIGNALS, info, setting, signals_of, text_event, warn
from turnkeeper.channels.plain import plain_text
from turnkeeper.channels.shapes import Shape
from turnkeeper.channels.signatures import is_vouched
from turnkeeper.errors import AttachmentTooLarge, ChannelPayloadInvalid
from turnkeeper.model.event import Event, EventWarning
from turnkeeper.ports.channels import Arrival, KnownTerms, Part, Raw, Said, SettingKind, Terms

ATTACHMENT_BYTES = 20 * 1024 * 1024
MESSAGE_BYTES = 35 * 1024 * 1024
BODY_CHARACTERS = 100_000
MOST_PARTS = 100
MOST_LEVELS = 20
MOST_TEXT = 1_000_000
_MOST_PARAMETERS = 2_000
_MOST_WORK = 20_000_000
MOST_NAME = 255
_NESTS = re.compile(rb"boundary[ \t]*[*=]|message/(?:rfc822|global)", re.IGNORECASE)
_DELIVERY_ID = re.compile(r"<[!-;=?-~]{1,250}>")
_MAILBOX = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")
_TAKEN_ON_REQUEST = frozenset(("auto_generated", "mailing_list"))


class EmailChannel:
    name = "email"
    known_terms = KnownTerms(
        settings={
            "attachment_bytes": SettingKind.COUNT,
            "message_bytes": SettingKind.COUNT,
            "body_characters": SettingKind.COUNT,
            "take_automatic": SettingKind.FLAG,
            "authserv_id": SettingKind.TEXT,
            "locale": SettingKind.TEXT,
            "mail_from": SettingKind.TEXT,
            "tolerance_seconds": SettingKind.COUNT,
        },
        address=_MAILBOX,
        address_is="the address of a mailbox, such as ann@example.org",
    )

    def read(self, raw: Raw, terms: Terms, *, now: float) -> Arrival:
        """What a machine wrote has no `said`; `ignored` in its thread says why. `take_automatic` in the settings of a
        binding lets notices and mail of lists in, and never bounces and automatic replies.
        """
        vouched = is_vouched(raw, terms, now=now)
        limits = _Limits.of(terms.settings)
        message = _parsed(raw.body, limits)
        headers = Headers(message.raw_items())
        sender = sender_of(headers)
        if sender is None:
            raise ChannelPayloadInvalid.at("/headers/from", "has no address of a sender")
        local, _, domain = sender.rpartition("@")
        subject = headers.words("subject")
        references = headers.ids("references") or headers.ids("in-reply-to")[-1:]
        message_id = headers.ids("message-id")[:1]
        thread: dict[str, Any] = {"subject": subject, "message_id": (*message_id, None)[0], "references": [*references]}
        automatic = why_automatic(headers, content_type=_type_of(message), sender=sender)
        is_taken = automatic is None or (
            automatic in _TAKEN_ON_REQUEST and terms.settings.get("take_automatic") is True
        )
        content = _Content(limits=limits)
        said: Said | None = None
        if is_taken:
            content.gather(message)
            signals = _signals(headers, sender=sender, domain=domain.lower(), terms=terms)
            signals |= {"subject": subject} | ({"auto_submitted": automatic} if automatic else {})
            said = _said(content, subject, signals, locale=_locale(headers, terms))
        else:
            thread["ignored"] = automatic
        return Arrival(
            address=f"{local}@{domain}".lower(),
            said=said,
            delivery_id=_delivery_id(message_id, raw.body),
            parts=tuple(content.parts),
            thread=thread,
            answers=tuple(dict.fromkeys((*headers.ids("in-reply-to"), *references))),
            is_vouched=vouched,
        )

    def normalize(self, said: Said) -> Event:
        signals = signals_of(said)
        shape = Shape(signals, SIGNALS)
        sender = shape.text("sender", most=320) or shape.text("from", most=320)
        domain = shape.text("sender_domain", most=255)
        if not sender and not domain:
            shape.fault("sender", "is missing")
        elif sender and "@" not in sender:
            shape.fault("sender" if "sender" in shape else "from", "must be an address of mail")
        message_id = shape.text("message_id", most=1_000)
        in_reply_to = shape.texts("in_reply_to", most=1_000)
        references = shape.texts("references", most=1_000)
        for part in shape.objects("parts", most=1_000):
            part.text("sha256", required=True)
        shape.settle()
        if sender and not domain:
            signals["sender_domain"] = sender.rstrip(">").rpartition("@")[2].lower()
        warnings = _warnings(signals, has_thread=bool(message_id or in_reply_to or references))
        return text_event(self.name, said, signals=signals, warnings=warnings)


class _Lenient(email.policy.Compat32):
    """Leaves headers alone, where the newer policies take each apart at once, with errors of their own for broken ones
    and in time that grows with the square of their length. Parameters cost as much, so their headers are kept short.
    """

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_MOST_PARAMETERS] if name.lower() in _WITH_PARAMETERS else value


_WITH_PARAMETERS = frozenset(("content-type", "content-disposition"))
_LENIENT = _Lenient()
_AS_WRITTEN = _Lenient(max_line_length=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    message_bytes: int
    attachment_bytes: int
    body_characters: int

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "_Limits":
        attachment_bytes = setting(settings, "attachment_bytes", ATTACHMENT_BYTES)
        return cls(
            message_bytes=setting(settings, "message_bytes", MESSAGE_BYTES),
            attachment_bytes=attachment_bytes,
            body_characters=setting(settings, "body_characters", BODY_CHARACTERS),
        )


@dataclass(slots=True)
class _Text:
    """One text of the mail, in the forms in which it came."""

    plain: str = ""
    html: str = ""


@dataclass(slots=True, kw_only=True)
class _Content:
    """What is found on the way through the parts of a mail."""

    limits: _Limits
    texts: list[_Text] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    _seen: int = 0

    def gather(self, part: email.message.Message, *, within: _Text | None = None, level: int = 0) -> None:
        self._seen += 1
        if self._seen > MOST_PARTS or level > MOST_LEVELS:
            raise ChannelPayloadInvalid.at(
                "/parts", f"are more than {MOST_PARTS}, or nested more than {MOST_LEVELS} levels deep"
            )
        kind = _type_of(part)
        if part.is_multipart() and not kind.startswith("message/"):
            if kind == "multipart/alternative" and within is None:
                within = _Text()
                self.texts.append(within)
            for each in _inside(part):
                self.gather(each, within=within, level=level + 1)
        elif kind.startswith("multipart/"):
            # It promises parts and has none: what it has are words.
            self._read_text(part, "text/plain", within)
        elif kind in ("text/plain", "text/html") and not _is_attached(part):
            self._read_text(part, kind, within)
        else:
            self._attach(part, kind)

    def _read_text(self, part: email.message.Message, kind: str, within: _Text | None) -> None:
        content = _content_of(part)
        if content is None:
            self.skipped.append({"media_type": kind, "reason": "it cannot be decoded"})
            return
        text = decoded(content, _parameter(part, "charset"))[:MOST_TEXT].replace("\r\n", "\n").replace("\r", "\n")
        if within is None:
            within = _Text()
            self.texts.append(within)
        if kind == "text/html":
            within.html = f"{within.html}\n{text}" if within.html else text
            return
        if (_parameter(part, "format") or "").lower() == "flowed":
            text = unflowed(text, delete_space=(_parameter(part, "delsp") or "").lower() == "yes")
        within.plain = f"{within.plain}\n{text}" if within.plain else text

    def _attach(self, part: email.message.Message, kind: str) -> None:
        content = _content_of(part)
        name = _name_of(part)
        told: dict[str, Any] = {"media_type": kind} | ({"filename": name} if name else {})
        if kind == "message/external-body":
            self.skipped.append({**told, "reason": "its content lies elsewhere"})
        elif content is None:
            self.skipped.append({**told, "reason": "it cannot be decoded"})
        elif not content:
            self.skipped.append({**told, "reason": "it is empty"})
        elif len(content) > self.limits.attachment_bytes:
            raise AttachmentTooLarge(len(content), self.limits.attachment_bytes)
        else:
            self.parts.append(Part(content=content, media_type=kind, name=name))
            told |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            if content_id := Headers(part.raw_items()).first("content-id"):
                told["content_id"] = plain_text(content_id[:MOST_NAME]).strip("<>")
            if _disposition(part) == "inline":
                told["inline"] = True
            self.told.append(told)


def _parsed(body: bytes, limits: _Limits) -> email.message.Message:
    if len(body) > limits.message_bytes:
        raise AttachmentTooLarge(len(body), limits.message_bytes)
    # Each level costs time for every line below it, so they are counted before they are opened.
    levels = sum(1 for _ in _NESTS.finditer(body))
    if levels > MOST_PARTS or levels * body.count(b"\n") > _MOST_WORK:
        raise ChannelPayloadInvalid.at("/parts", "are nested too deep, or too many")
    try:
        return email.parser.BytesParser(policy=_LENIENT).parsebytes(body)
    except (RecursionError, ValueError, LookupError, AttributeError, TypeError):
        raise ChannelPayloadInvalid.at("/", "this cannot be read as mail") from None


def _said(content: _Content, subject: str, signals: dict[str, Any], *, locale: str | None) -> Said:
    """Raises ChannelPayloadInvalid for a mail without words and without attachments."""
    pieces: list[str] = []
    is_html = False
    for text in content.texts:
        if text.plain.strip():
            pieces.append(text.plain)
        elif text.html.strip():
            is_html = True
            pieces.append(text_of_html(text.html[:MOST_TEXT]))
    whole = plain_text("\n".join(pieces)).strip("\n")
    most = min(content.limits.body_characters, MOST_TEXT - 1)
    signals["is_body_truncated"] = len(whole) > most
    whole = whole[:most]
    words = new_words(whole, subject=subject)
    message = words.text or ("" if content.parts else subject)
    if not message.strip() and not content.parts:
        raise ChannelPayloadInvalid.at("/body", "is empty, and so is the subject; nothing is attached")
    signals |= {"is_html_only": is_html, "is_quote_stripped": words.has_quote, "parts": content.told}
    if words.has_quote or words.has_signature:
        signals["whole_text"] = whole
    if words.has_signature:
        signals["is_signature_stripped"] = True
    if content.skipped:
        signals["skipped_parts"] = content.skipped
    return Said(message=message, locale=locale, signals=signals)


def _signals(headers: Headers, *, sender: str, domain: str, terms: Terms) -> dict[str, Any]:
    told: dict[str, Any] = {
        "sender": sender,
        "sender_domain": domain,
        "message_id": (*headers.ids("message-id"), None)[0],
        "in_reply_to": (*headers.ids("in-reply-to"), None)[0],
        "references": list(headers.ids("references")),
        "date": date_of(headers),
        "to": list(headers.addresses("to")),
        "cc": list(headers.addresses("cc")),
        "reply_to": list(headers.addresses("reply-to")),
        "list_id": headers.words("list-id"),
        "precedence": headers.words("precedence"),
    }
    told = {name: value for name, value in told.items() if value}
    trusted = terms.settings.get("authserv_id")
    if isinstance(trusted, str) and trusted:
        told["authentication"] = authentication(headers, trusted=trusted, sender_domain=domain)
    return told


def _warnings(signals: Mapping[str, Any], *, has_thread: bool) -> list[EventWarning]:
    found = []
    if not has_thread:
        found.append(info("thread_headers_missing", "Nothing says to which thread it belongs."))
    match signals.get("authentication"):
        case {"verified": True}:
            pass
        case _:
            found.append(warn("sender_unverified", "No trusted server says that the sender is who it claims to be."))
    if signals.get("is_html_only") is True:
        found.append(info("html_only_body", "The text was made out of HTML."))
    if signals.get("is_quote_stripped") is True:
        found.append(info("quoted_text_stripped", "Quoted text was left out; whole_text has it."))
    if signals.get("skipped_parts"):
        found.append(warn("attachment_skipped", "Something that was attached could not be kept."))
    if signals.get("is_body_truncated") is True:
        found.append(warn("body_truncated", "The text was too long; its end is missing."))
    return found


def _delivery_id(message_id: tuple[str, ...], body: bytes) -> str:
    if message_id and _DELIVERY_ID.fullmatch(message_id[0]):
        return message_id[0]
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def _locale(headers: Headers, terms: Terms) -> str | None:
    written = headers.first("content-language") or terms.settings.get("locale")
    return plain_text(written.partition(",")[0].strip())[:64] or None if isinstance(written, str) else None


def _type_of(part: email.message.Message) -> str:
    return plain_text(part.get_content_type())[:MOST_NAME]


def _disposition(part: email.message.Message) -> str:
    return (Headers(part.raw_items()).first("content-disposition") or "").partition(";")[0].strip().lower()


def _is_attached(part: email.message.Message) -> bool:
    return _disposition(part) == "attachment" or _name_of(part) is not None


def _name_of(part: email.message.Message) -> str | None:
    """The name of a file, without folders: a name is no path."""
    written = _parameter(part, "filename", "content-disposition") or _parameter(part, "name")
    if written is None and part.get_content_type() == "message/rfc822":
        return "message.eml"
    if written is None:
        return None
    name = Headers([("name", written)]).words("name").replace("\\", "/").rpartition("/")[2].strip(" .")
    return name[:MOST_NAME] or None


def _parameter(part: email.message.Message, name: str, header: str = "content-type") -> str | None:
    try:
        value = part.get_param(name, header=header)
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
    if isinstance(value, tuple):
        charset, _, encoded = value
        return decoded(str(encoded).encode("latin-1", errors="replace"), charset or None)
    return value if isinstance(value, str) else None


def _content_of(part: email.message.Message) -> bytes | None:
    """Decoded; None for what cannot be. A mail inside a mail comes whole, as it is written."""
    try:
        if part.is_multipart():
            return b"\n".join(each.as_bytes(policy=_AS_WRITTEN) for each in _inside(part))
        content = part.get_payload(decode=True)
    except (ValueError, LookupError, TypeError, AttributeError, KeyError, IndexError, RecursionError):
        return None
    return content if isinstance(content, bytes) else None


def _inside(part: email.message.Message) -> list[email.message.Message]:
    return [each for each in part.get_payload() if isinstance(each, email.message.Message)]
