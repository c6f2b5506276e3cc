"""Text messages as gateways push them: Twilio's form, and the JSON of Vonage and of Telnyx.

Facts about the shapes: Twilio's "Webhook request parameters" and "Validating requests", Vonage's "Inbound SMS", Telnyx'
"Receiving webhooks for messaging". What is behind the links of media is not fetched.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from turnkeeper.channels.json_bodies import read_object
from turnkeeper.channels.normalizing import SIGNALS, info, signals_of, text_event, warn
from turnkeeper.channels.plain import plain_text
from turnkeeper.channels.shapes import Shape
from turnkeeper.channels.signatures import DOES_NOT_FIT, check_signature, is_signed
from turnkeeper.errors import ChannelPayloadInvalid, WebhookSignatureInvalid
from turnkeeper.model.event import Event
from turnkeeper.ports.channels import Arrival, KnownTerms, Raw, Said, SettingKind, Terms

TWILIO_SIGNATURE = "x-twilio-signature"
MOST_FIELDS = 300
MOST_MEDIA = 50
MOST_SEGMENTS = 255
E164 = re.compile(r"\+[1-9][0-9]{1,14}")

KEYWORDS: Mapping[str, frozenset[str]] = {
    "stop": frozenset(("stop", "stopall", "unsubscribe", "cancel", "end", "quit")),
    "start": frozenset(("start", "unstop")),
    "help": frozenset(("help", "info")),
}
_DIGITS = re.compile("[1-9][0-9]{1,14}")
_COUNT = re.compile("[0-9]{1,3}")
_TWILIO_PLACES = {"FromCountry": "country", "FromState": "state", "FromCity": "city", "FromZip": "zip"}
_TWILIO_READ = frozenset((*_TWILIO_PLACES, "From", "To", "Body", "MessageSid", "NumMedia", "NumSegments"))
_TWILIO_MEDIA = re.compile("Media(?:Url|ContentType)[0-9]{1,2}")
_VONAGE_READ = frozenset(
    ("msisdn", "to", "text", "messageId", "type", "concat", "concat-ref", "concat-total", "concat-part")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """What every gateway tells of a text message; without a text it is only news about one that went out."""

    gateway: str
    sender: str
    recipient: str | None
    text: str | None
    delivery_id: str | None
    carrier: Mapping[str, Any] = field(default_factory=dict)
    segments: int | None = None
    segments_received: int | None = None
    media: Sequence[Mapping[str, str]] = ()
    signals: Mapping[str, Any] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict)


class SmsChannel:
    name = "sms"
    known_terms = KnownTerms(
        settings={
            "unsigned": SettingKind.FLAG,
            "url": SettingKind.TEXT,
            "locale": SettingKind.TEXT,
            "tolerance_seconds": SettingKind.COUNT,
        },
        address=E164,
        address_is="a number as of E.164, such as +14155550100",
        takes_any_secret=True,
    )

    def read(self, raw: Raw, terms: Terms, *, now: float) -> Arrival:
        """A binding with secrets takes only what is signed, by Twilio's recipe or as Standard Webhooks says.

        `unsigned` in its settings lets the others in, too; `url` is the address that the gateway knows us by.
        """
        is_json = "json" in raw.media_type or raw.body.lstrip()[:1] == b"{"
        form = () if is_json else _form(raw.body)
        vouched = _is_vouched(raw, terms, form, now=now)
        message = _from_json(read_object(raw.body)) if is_json else _from_form(dict(form))
        thread = {} if message.recipient is None else {"our_number": message.recipient}
        if message.text is None:
            return Arrival(
                address=message.sender, said=None, thread={**thread, "ignored": "status_report"}, is_vouched=vouched
            )
        if not message.text.strip() and not message.media:
            raise ChannelPayloadInvalid.at("/text", "is empty, and there is no media")
        return Arrival(
            address=message.sender,
            said=Said(message=_words(message), locale=_locale(terms), signals=_signals(message)),
            delivery_id=message.delivery_id,
            thread=thread,
            is_vouched=vouched,
        )

    def normalize(self, said: Said) -> Event:
        signals = signals_of(said)
        shape = Shape(signals, SIGNALS)
        sender = shape.text("from_e164", required=True)
        if sender is not None and not E164.fullmatch(sender):
            shape.fault("from_e164", "must be a number as of E.164, such as +14155550100")
        carrier = shape.object("carrier")
        segments = shape.whole("segments", least=1, most=MOST_SEGMENTS)
        received = shape.whole("segments_received", most=MOST_SEGMENTS)
        is_downgraded = shape.flag("unicode_downgraded")
        media = shape.items("media", most=MOST_MEDIA)
        shape.settle()
        if keyword := keyword_in(said.message):
            signals.setdefault("keyword", keyword)
        warnings = []
        if carrier is None or not signals["carrier"]:
            warnings.append(info("carrier_metadata_missing", "The gateway tells nothing about the carrier."))
        if segments is not None and received is not None and received < segments:
            warnings.append(warn("sms_segment_missing", f"Of {segments} parts {received} came."))
        if is_downgraded or "\ufffd" in said.message:
            warnings.append(warn("unicode_downgraded", "Characters were lost on the way."))
        if media:
            warnings.append(
                info("media_not_fetched", "Links to media are among the signals; nobody has followed them.")
            )
        return text_event(self.name, said, signals=signals, warnings=warnings)


def keyword_in(message: str) -> str | None:
    """`stop`, `start` or `help`, if the message is nothing but a word that carriers agree on for it."""
    word = message.strip().lower()
    return next((keyword for keyword, words in KEYWORDS.items() if word in words), None)


def _signals(message: _Message) -> dict[str, Any]:
    told = {
        "from_e164": message.sender,
        "to": message.recipient,
        "gateway": message.gateway,
        "carrier": dict(message.carrier) or None,
        "segments": message.segments,
        "segments_received": message.segments_received,
        "media": list(message.media) or None,
        "gateway_fields": dict(message.rest) or None,
        **message.signals,
    }
    return {name: value for name, value in told.items() if value is not None}


def _words(message: _Message) -> str:
    if message.text and message.text.strip():
        return message.text
    return "\n".join(f"[{each.get('media_type') or 'media'}]" for each in message.media)


def _locale(terms: Terms) -> str | None:
    locale = terms.settings.get("locale")
    return locale if isinstance(locale, str) else None


def _form(body: bytes) -> Sequence[tuple[str, str]]:
    text = body.decode("utf-8", errors="replace")
    try:
        read = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="replace")
    except ValueError:
        raise ChannelPayloadInvalid.at("/", f"has more than {MOST_FIELDS} fields") from None
    return read


def _from_form(form: Mapping[str, str]) -> _Message:
    fields = {plain_text(name): plain_text(value) for name, value in form.items()}
    if "msisdn" in fields:
        return _vonage(fields)
    if "From" not in fields:
        raise ChannelPayloadInvalid.at("/From", "is missing: this is no text message of a known gateway")
    return _twilio(fields)


def _from_json(body: Mapping[str, Any]) -> _Message:
    if "msisdn" in body:
        return _vonage(body)
    if isinstance(body.get("data"), Mapping):
        return _telnyx(body)
    if "From" in body:
        return _twilio(body)
    raise ChannelPayloadInvalid.at("/", "this is no text message of a known gateway")


def _twilio(fields: Mapping[str, Any]) -> _Message:
    shape = Shape(fields, "")
    sender = _e164(shape, "From")
    body = shape.text("Body")
    is_report = body is None and "MessageStatus" in shape
    media_count = _count(shape, "NumMedia") or 0
    media = [
        {"url": url, "media_type": shape.text(f"MediaContentType{number}") or ""}
        for number in range(min(media_count, MOST_MEDIA))
        if (url := shape.text(f"MediaUrl{number}"))
    ]
    segments = _count(shape, "NumSegments") or None
    message = _Message(
        gateway="twilio",
        sender=sender,
        recipient=shape.text("To", most=64),
        text=None if is_report else body or "",
        delivery_id=shape.text("MessageSid", most=64) or shape.text("SmsSid", most=64) or None,
        carrier={name: fields[key] for key, name in _TWILIO_PLACES.items() if fields.get(key)},
        segments=segments,
        segments_received=segments,
        media=media,
        rest={k: v for k, v in fields.items() if k not in _TWILIO_READ and not _TWILIO_MEDIA.fullmatch(k)},
    )
    shape.settle()
    return message


def _vonage(fields: Mapping[str, Any]) -> _Message:
    shape = Shape(fields, "")
    sender = _e164(shape, "msisdn", plus="+")
    concat: dict[str, Any] = {}
    segments = received = None
    if _is_true(fields.get("concat")):
        segments, part = _count(shape, "concat-total", least=1), _count(shape, "concat-part", least=1)
        received = 1
        told = {"ref": shape.label("concat-ref"), "total": segments, "part": part}
        concat = {"concat": {name: value for name, value in told.items() if value is not None}}
    message = _Message(
        gateway="vonage",
        sender=sender,
        recipient=shape.text("to", most=64),
        text=shape.text("text") or "",
        delivery_id=shape.text("messageId", most=64) or None,
        carrier={"network": fields["network-code"]} if fields.get("network-code") else {},
        segments=segments,
        segments_received=received,
        signals={**concat, **({"encoding": kind} if (kind := shape.text("type", most=64)) else {})},
        rest={name: value for name, value in fields.items() if name not in _VONAGE_READ},
    )
    shape.settle()
    return message


def _telnyx(body: Mapping[str, Any]) -> _Message:
    shape = Shape(body, "")
    data = shape.object("data", required=True)
    payload = data.object("payload", required=True) if data else None
    shape.settle()
    assert data is not None
    assert payload is not None
    sender_shape = payload.object("from", required=True)
    sender = _e164(sender_shape, "phone_number") if sender_shape else ""
    recipients = [each.text("phone_number", most=64) for each in payload.objects("to", most=100)]
    is_message = data.text("event_type") == "message.received"
    inner: Mapping[str, Any] = body["data"]["payload"]
    parts = payload.whole("parts", least=1, most=MOST_SEGMENTS)
    carrier_keys = ("carrier", "line_type")
    told = {key: sender_shape.text(key) for key in carrier_keys} if sender_shape else {}
    media = [
        {"url": url, "media_type": each.text("content_type") or ""}
        for each in payload.objects("media", most=MOST_MEDIA)
        if (url := each.text("url", required=True))
    ]
    message = _Message(
        gateway="telnyx",
        sender=sender,
        recipient=recipients[0] if recipients else None,
        text=(payload.text("text") or "") if is_message else None,
        delivery_id=payload.text("id", most=64) or None,
        carrier={"name" if key == "carrier" else key: value for key, value in told.items() if value},
        segments=parts,
        segments_received=parts,
        media=media,
        signals={"encoding": kind} if (kind := payload.text("encoding", most=64)) else {},
        rest={name: value for name, value in inner.items() if name not in ("text", "from", "media", "parts")},
    )
    shape.settle()
    return message


def _e164(shape: Shape, name: str, *, plus: str = "") -> str:
    """Notes a fault for what is no number: a name, a short code. `plus` is what the gateway leaves out."""
    written = shape.text(name, required=True)
    if written is None:
        return ""
    number = f"{plus}{written}" if _DIGITS.fullmatch(written) else written
    if not E164.fullmatch(number):
        shape.fault(name, "must be a number as of E.164, such as +14155550100")
    return number


def _count(shape: Shape, name: str, *, least: int = 0) -> int | None:
    """A small number, which a form writes as a text."""
    if not shape.is_text(name):
        return shape.whole(name, least=least, most=MOST_SEGMENTS)
    written = shape.text(name) or ""
    if not _COUNT.fullmatch(written) or not least <= int(written) <= MOST_SEGMENTS:
        shape.fault(name, f"must be a whole number from {least} to {MOST_SEGMENTS}")
        return None
    return int(written)


def _is_true(value: Any) -> bool:
    return value is True or value == "true"


def _is_vouched(raw: Raw, terms: Terms, form: Sequence[tuple[str, str]], *, now: float) -> bool:
    if not terms.secrets:
        return False
    if TWILIO_SIGNATURE in raw.headers:
        _check_twilio(raw, terms, form)
        return True
    if is_signed(raw):
        check_signature(raw, terms, now=now)
        return True
    if terms.settings.get("unsigned") is True:
        return False
    raise WebhookSignatureInvalid("it is not signed")


def _check_twilio(raw: Raw, terms: Terms, form: Sequence[tuple[str, str]]) -> None:
    """The recipe: the whole URL, then each name and value of the form in the order of names, HMAC-SHA1, base64.

    Of a JSON body the URL carries the hash.
    """
    url = _signed_url(raw, terms)
    if not form and raw.body:
        hashes = [value for name, value in parse_qsl(url.partition("?")[2]) if name == "bodySHA256"]
        if hashes != [hashlib.sha256(raw.body).hexdigest()]:
            raise WebhookSignatureInvalid("bodySHA256 is not the hash of the body")
    content = url + "".join(f"{name}{value}" for name, value in sorted(set(form)))
    given = raw.headers[TWILIO_SIGNATURE].encode("utf-8", errors="replace")
    matches = [hmac.compare_digest(_twilio_signature(secret, content), given) for secret in terms.secrets]
    if not any(matches):
        raise WebhookSignatureInvalid(DOES_NOT_FIT)


def _signed_url(raw: Raw, terms: Terms) -> str:
    """As the gateway wrote it: behind a proxy that is the `url` of the settings, with the query as it came."""
    known = terms.settings.get("url")
    if known is None:
        return raw.url
    query = raw.url.partition("?")[2]
    return f"{known}?{query}" if query else str(known)


def _twilio_signature(secret: str, content: str) -> bytes:
    key, signed = secret.encode("utf-8", errors="replace"), content.encode("utf-8", errors="replace")
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha1))
