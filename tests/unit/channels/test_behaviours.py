"""The behaviours of the source that channels show by themselves, each under its number."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.channels.arriving import NO_TERMS, NOW, SECRET, an_attachment, codes, posted, signed
from turnkeeper.channels.conserving import check_conserved, evidence_coverage
from turnkeeper.channels.registry import ChannelRegistry
from turnkeeper.errors import NormalizationFailed
from turnkeeper.model.event import Event, EventType
from turnkeeper.ports.channels import Arrival, Channel, Raw, Said, Terms

CHANNELS = ChannelRegistry()
CONFIDENCES = [0.98, 0.97, 0.96, 0.91, 0.58, 0.83]
SPOKEN = ["where", "is", "my", "order", "fifty", "five"]
ASR = {
    "final": True,
    "truncated": False,
    "tokens": [
        {"text": text, "confidence": confidence, "start_ms": number * 200, "end_ms": number * 200 + 200}
        for number, (text, confidence) in enumerate(zip(SPOKEN, CONFIDENCES, strict=True))
    ],
    "speaker_turns": [{"speaker": "caller", "start_ms": 0, "end_ms": 1200, "first_token": 0, "last_token": 5}],
}

# One message of each channel, with every signal that its sender may give, and one that nobody knows.
SAID: dict[str, Said] = {
    "app_chat": Said(
        message="I want to send back the blue kettle.",
        locale="en-GB",
        signals={"typing": {"duration_ms": 4200}, "user_role_hint": "customer", "mood": "calm"},
        attachments=(an_attachment(1), an_attachment(2)),
    ),
    "email": Said(
        message="Where is my order?",
        locale="en-GB",
        signals={
            "sender": "ada@heron.example",
            "message_id": "<a@heron.example>",
            "in_reply_to": "<b@desk.example>",
            "references": ["<c@desk.example>", "<b@desk.example>"],
            "parts": [{"filename": "bill.pdf", "media_type": "application/pdf", "sha256": "0" * 64}],
            "mood": "calm",
        },
        attachments=(an_attachment(1),),
    ),
    "voice": Said(message=" ".join(SPOKEN), locale="en-GB", signals={"asr": ASR, "mood": "calm"}),
    "api": Said(
        payload={"order": 55, "lines": [{"sku": "k-1", "n": 2.5}], "note": None, "ok": True},
        signals={"schema_ref": "order@1", "caller_service": "billing", "mood": "calm"},
    ),
    "webhook": Said(
        payload={"type": "order.sent", "timestamp": "2026-03-02T08:30:00Z", "data": {"order": 55}},
        signals={
            "signature": {"scheme": "standard-webhooks/v1", "verified": True, "key_id": "0"},
            "delivery_attempt": 2,
            "mood": "calm",
        },
    ),
    "sms": Said(
        message="Where is my order?",
        locale="en-GB",
        signals={
            "from_e164": "+14155550100",
            "carrier": {"name": "Carrier", "mcc": "310"},
            "segments": 1,
            "mood": "calm",
        },
    ),
}


def channel(name: str) -> Channel:
    found = CHANNELS.get(name)
    assert found is not None
    return found


def normalized(name: str, **changes: Any) -> Event:
    return channel(name).normalize(replace(SAID[name], **changes))


def test_behaviour_16_a_chat_message_is_a_text_with_typing_and_role_hint() -> None:
    event = normalized("app_chat")

    assert (event.type, event.text) == (EventType.TEXT_MESSAGE, SAID["app_chat"].message)
    assert event.metadata["channel"]["typing"] == {"duration_ms": 4200}
    assert event.metadata["channel"]["user_role_hint"] == "customer"


def test_behaviour_17_a_mail_keeps_domain_thread_and_parts_and_attachments_keep_their_hashes() -> None:
    event = normalized("email")

    told = event.metadata["channel"]
    assert (event.type, told["sender_domain"], told["message_id"]) == (
        EventType.TEXT_MESSAGE,
        "heron.example",
        "<a@heron.example>",
    )
    assert told["references"] == ["<c@desk.example>", "<b@desk.example>"]
    assert told["parts"] == SAID["email"].signals["parts"]
    assert [each.sha256 for each in event.attachments] == [an_attachment(1).sha256]


def test_behaviour_18_a_transcript_is_a_text_with_confidence_tokens_and_turns() -> None:
    event = normalized("voice")

    assert (event.type, event.text) == (EventType.TEXT_MESSAGE, "where is my order fifty five")
    assert event.confidence is not None
    assert 0.58 < event.confidence < 0.98
    asr = event.metadata["channel"]["asr"]
    assert [token["confidence"] for token in asr["tokens"]] == CONFIDENCES
    assert (len(asr["speaker_turns"]), asr["min_confidence"]) == (1, 0.58)


def test_behaviour_19_a_request_of_a_program_is_what_was_sent() -> None:
    event = normalized("api")

    assert (event.type, event.payload, event.text) == (EventType.STRUCTURED_REQUEST, SAID["api"].payload, "")


def test_behaviour_20_a_webhook_keeps_signature_and_attempt() -> None:
    event = normalized("webhook")

    assert (event.type, event.payload) == (EventType.EVENT_ENVELOPE, SAID["webhook"].payload)
    assert event.metadata["channel"]["signature"]["verified"] is True
    assert event.metadata["channel"]["delivery_attempt"] == 2
    assert "webhook_redelivery" in codes(event)


def test_behaviour_21_a_text_message_keeps_number_and_carrier() -> None:
    event = normalized("sms")

    assert (event.type, event.text) == (EventType.TEXT_MESSAGE, "Where is my order?")
    assert event.metadata["channel"]["from_e164"] == "+14155550100"
    assert event.metadata["channel"]["carrier"] == {"name": "Carrier", "mcc": "310"}


@pytest.mark.parametrize("name", SAID)
def test_behaviour_22_events_of_all_channels_have_one_shape(name: str) -> None:
    event = normalized(name)

    assert isinstance(event, Event)
    assert isinstance(event.type, EventType)
    assert event.metadata.keys() == {"channel"}
    assert event.metadata["channel"]["name"] == name
    assert (event.payload is None) == (event.type is EventType.TEXT_MESSAGE)
    assert all(warning.code.isascii() and warning.detail for warning in event.warnings)


@pytest.mark.parametrize("name", SAID)
def test_behaviour_23_every_signal_can_be_read_at_the_event(name: str) -> None:
    told = normalized(name).metadata["channel"]

    for signal, value in SAID[name].signals.items():
        if signal == "asr":
            assert {**told["asr"], **value} == told["asr"]
        else:
            assert told[signal] == value


def test_behaviour_24_a_transcript_that_was_cut_off_is_accepted_with_a_warning() -> None:
    event = normalized("voice", signals={"asr": ASR | {"truncated": True}})

    assert "asr_truncated" in codes(event)


def test_behaviour_25_one_unsure_token_is_enough_for_a_warning() -> None:
    unsure = [{"text": "fifty", "confidence": 0.2}, {"text": "five", "confidence": 0.9}]

    event = normalized("voice", signals={"asr": ASR | {"tokens": unsure, "speaker_turns": []}})

    assert "asr_low_confidence" in codes(event)
    assert event.confidence is not None
    assert event.confidence < 0.85


def test_behaviour_53_an_adapter_that_drops_a_hash_is_found_out() -> None:
    class Careless:
        name = "careless"

        def read(self, raw: Raw, terms: Terms, *, now: float) -> Arrival:
            return Arrival(address="a", said=Said(message=raw.body.decode()))

        def normalize(self, said: Said) -> Event:
            return Event(text=said.message, attachments=tuple(replace(each, sha256="") for each in said.attachments))

    registry = ChannelRegistry()
    registry.add(Careless())
    careless = registry.get("careless")
    assert careless is not None
    said = Said(message="hi", attachments=(an_attachment(1), an_attachment(2)))

    event = careless.normalize(said)

    with pytest.raises(NormalizationFailed):
        check_conserved(event, said)
    assert evidence_coverage(event.attachments, said.attachments).changed == ("art_1", "art_2")


@pytest.mark.parametrize("name", SAID)
def test_behaviour_54_attachments_arrive_as_they_are_in_their_order(name: str) -> None:
    attached = (an_attachment(3), an_attachment(1), an_attachment(2), an_attachment(1))

    event = normalized(name, attachments=attached)

    assert event.attachments == attached
    check_conserved(event, replace(SAID[name], attachments=attached))


@pytest.mark.parametrize("name", ["app_chat", "email", "voice", "sms"])
def test_behaviour_55_a_locale_arrives_and_a_missing_one_is_told(name: str) -> None:
    assert normalized(name).locale == "en-GB"
    without = normalized(name, locale=None)
    assert without.locale is None
    assert "locale_missing" in codes(without)


def test_behaviour_56_typing_alone_says_nothing() -> None:
    arrival = channel("app_chat").read(posted({"user": "u", "typing": {"duration_ms": 1}}), NO_TERMS, now=NOW)

    assert arrival.said is None


@pytest.mark.parametrize("name", SAID)
def test_normalizing_twice_gives_the_same_and_changes_nothing(name: str) -> None:
    before = hashlib.sha256(repr(SAID[name]).encode()).hexdigest()

    assert normalized(name) == normalized(name)
    assert hashlib.sha256(repr(SAID[name]).encode()).hexdigest() == before


def test_a_delivery_that_comes_twice_has_the_same_id() -> None:
    raw = signed(b'{"type": "a"}', delivery_id="msg_7")
    webhook = channel("webhook")

    first, again = (webhook.read(raw, Terms(secrets=(SECRET,)), now=NOW) for _ in range(2))

    assert first == again
    assert first.delivery_id == "msg_7"
