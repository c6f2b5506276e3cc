"""Whatever arrives, an adapter reads it or says in our words why not; what it reads can be kept."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scale import rounds
from tests.unit.channels.arriving import DATA, NOW, SECRET, an_attachment, signed
from turnkeeper.channels.registry import ChannelRegistry
from turnkeeper.errors import ChannelPayloadInvalid, WebhookSignatureInvalid
from turnkeeper.model.event import Event
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.ports.channels import Arrival, Channel, Raw, Said, Terms

REGISTRY = ChannelRegistry()
NAMES = REGISTRY.names()
REFUSALS = (ChannelPayloadInvalid, WebhookSignatureInvalid)
MANY = settings(
    max_examples=rounds(60, 5_000),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)

FILES = sorted(path for path in DATA.rglob("*.*") if path.suffix in (".eml", ".json", ".form"))
BODIES = [path.read_bytes() for path in FILES]
FOLDERS = {"email": "email", "voice": "voice", "sms": "sms"}
KEYS = st.sampled_from(
    [
        *("message", "user", "typing", "locale", "attachments", "user_role_hint", "asr", "tokens", "speaker_turns"),
        *("text", "confidence", "start_ms", "end_ms", "first_token", "last_token", "speaker", "final", "truncated"),
        *("results", "channels", "channel", "alternatives", "words", "word", "transcript", "items", "transcripts"),
        *(
            "response",
            "startTime",
            "speakerTag",
            "type",
            "content",
            "msisdn",
            "From",
            "Body",
            "data",
            "payload",
            "from",
        ),
        *("phone_number", "event_type", "to", "media", "segments", "from_e164", "carrier", "signature", "verified"),
        *(
            "delivery_attempt",
            "schema_ref",
            "sender",
            "references",
            "parts",
            "sha256",
            "authentication",
            "name",
            "caller",
        ),
    ]
)
NUMBERS = st.one_of(st.integers(-2, 3), st.integers(), st.floats(), st.sampled_from([0.5, 1.0, 1e308]))
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["+14155550100", "a@b.example", "1.5s", "0.7", "\x00", "\ud800", "pronunciation", "2"]),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(KEYS, TEXTS), inner, max_size=5)),
    max_leaves=25,
)
OBJECTS = st.dictionaries(st.one_of(KEYS, TEXTS), JSON, max_size=7)
TERMS = st.sampled_from(
    [
        Terms(),
        Terms(settings={"unsigned": True, "address": "somebody", "take_automatic": True, "authserv_id": "mx"}),
        Terms(secrets=(SECRET, "12345"), settings={"unsigned": True, "url": "https://x.example", "address": ""}),
        Terms(secrets=(SECRET,), settings={"schema": {"type": "object", "required": ["message"]}}),
    ]
)


def channel(name: str) -> Channel:
    found = REGISTRY.get(name)
    assert found is not None
    return found


def check(name: str, raw: Raw, terms: Terms) -> None:
    """What is read can be normalized once its parts are kept."""
    try:
        arrival = channel(name).read(raw, terms, now=NOW)
    except REFUSALS:
        return
    assert arrival.address
    assert is_plain_text(arrival.address)
    assert_can_be_kept(dict(arrival.thread))
    assert all(is_plain_text(each) for each in (*arrival.answers, arrival.delivery_id or ""))
    if arrival.said is not None:
        assert_event(event_of(name, arrival, arrival.said))


def event_of(name: str, arrival: Arrival, said: Said) -> Event:
    attachments = (*said.attachments, *(an_attachment(number) for number in range(len(arrival.parts))))
    return channel(name).normalize(
        Said(
            message=said.message,
            payload=said.payload,
            locale=said.locale,
            signals=said.signals,
            attachments=attachments,
        )
    )


def assert_event(event: Event) -> None:
    assert is_plain_text(event.text)
    assert is_plain_text(event.locale or "")
    assert_can_be_kept(event.payload)
    assert_can_be_kept(dict(event.metadata))


def assert_can_be_kept(value: Any) -> None:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    assert is_plain_text(written)
    assert "\\u0000" not in written


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(body=st.binary(max_size=300), terms=TERMS)
def test_bytes_of_any_kind(name: str, body: bytes, terms: Terms) -> None:
    check(name, Raw(body=body), terms)


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(body=OBJECTS, terms=TERMS)
def test_json_of_any_kind(name: str, body: dict[str, Any], terms: Terms) -> None:
    written = json.dumps(body).encode()

    check(name, Raw(body=written, media_type="application/json"), terms)
    check(name, signed(written), terms)


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(data=st.data(), terms=TERMS)
def test_bodies_that_are_nearly_right(name: str, data: st.DataObject, terms: Terms) -> None:
    own = [body for path, body in zip(FILES, BODIES, strict=True) if path.parent.name == FOLDERS.get(name)]
    body = data.draw(st.sampled_from(own or BODIES))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body)))
        until = min(len(body), at + data.draw(st.integers(0, 40)))
        put = data.draw(
            st.one_of(st.binary(max_size=8), st.sampled_from([b"\x00", b'"', b"{", b"=?utf-8?B?", b"\r\n", b"-1"]))
        )
        body = body[:at] + put + body[until:]

    check(name, Raw(body=body), terms)


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(
    message=TEXTS,
    payload=st.one_of(st.none(), OBJECTS),
    signals=OBJECTS,
    locale=st.one_of(st.none(), TEXTS),
    attached=st.integers(0, 2),
)
def test_what_is_said_with_signals_of_any_kind(
    name: str, message: str, payload: dict[str, Any] | None, signals: dict[str, Any], locale: str | None, attached: int
) -> None:
    attachments = tuple(an_attachment(number) for number in range(attached))
    said = Said(message=message, payload=payload, signals=signals, locale=locale, attachments=attachments)

    try:
        event = channel(name).normalize(said)
    except ChannelPayloadInvalid:
        return

    assert_event(event)
    assert event.attachments == attachments


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(
    headers=st.dictionaries(
        st.sampled_from(
            [
                *("webhook-id", "webhook-timestamp", "webhook-signature", "webhook-attempt", "x-twilio-signature"),
                *("x-schema-ref", "x-caller-service", "idempotency-key", "content-language"),
            ]
        ),
        TEXTS,
    ),
    query=st.dictionaries(st.sampled_from(["caller", "locale", "call_id", "schema_ref", "caller_service"]), TEXTS),
    terms=TERMS,
)
def test_headers_and_queries_of_any_kind(
    name: str, headers: dict[str, str], query: dict[str, str], terms: Terms
) -> None:
    body = b'{"message": "hi", "user": "u", "From": "+14155550100", "Body": "hi", "asr": {}}'

    check(name, Raw(body=body, headers=headers, query=query, url="https://x.example/?a=b"), terms)
