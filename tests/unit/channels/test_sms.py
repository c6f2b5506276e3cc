"""Text messages of three gateways, with their numbers, carriers and signatures."""

import base64
import hashlib
import hmac
from typing import Any

import pytest

from tests.unit.channels.arriving import DATA, NO_TERMS, NOW, SECRET, codes, posted, signed
from turnkeeper.channels.sms import SmsChannel
from turnkeeper.errors import ChannelPayloadInvalid, WebhookSignatureInvalid
from turnkeeper.model.event import Event
from turnkeeper.ports.channels import Arrival, Raw, Said, Terms

SMS = SmsChannel()
URL = "https://harbour.example/channels/sms/desk"
TOKEN = "12345"


def sent(file: str) -> tuple[Arrival, Event]:
    arrival = SMS.read(Raw(body=(DATA / "sms" / file).read_bytes()), NO_TERMS, now=NOW)
    assert arrival.said is not None
    return arrival, SMS.normalize(arrival.said)


def by_twilio(form: bytes, signature: str, *, url: str = URL) -> Raw:
    return Raw(body=form, headers={"x-twilio-signature": signature}, url=url)


def twilio_signature(content: str, *, token: str = TOKEN) -> str:
    return base64.b64encode(hmac.new(token.encode(), content.encode(), hashlib.sha1).digest()).decode()


def test_twilio_a_form_with_place_and_segments() -> None:
    arrival, event = sent("twilio_sms.form")

    assert (arrival.address, arrival.delivery_id) == ("+14155550100", "SM0001")
    assert arrival.thread == {"our_number": "+14155550199"}
    assert event.text == "Is berth nine free? ⛵"
    assert event.channel["from_e164"] == "+14155550100"
    assert event.channel["carrier"] == {"country": "US", "state": "CA", "city": "SAN FRANCISCO", "zip": "94107"}
    assert (event.channel["segments"], event.channel["gateway"]) == (2, "twilio")
    assert event.channel["gateway_fields"]["AccountSid"] == "AC0001"
    assert codes(event) == {"locale_missing"}


def test_twilio_pictures_are_links_that_nobody_follows() -> None:
    _, event = sent("twilio_mms.form")

    assert event.text == "[image/jpeg]\n[image/png]"
    assert event.channel["media"] == [
        {"url": "https://api.example/m/0", "media_type": "image/jpeg"},
        {"url": "https://api.example/m/1", "media_type": "image/png"},
    ]
    assert "media_not_fetched" in codes(event)


@pytest.mark.parametrize("file", ["twilio_status.form", "telnyx_finalized.json"])
def test_news_about_what_went_out_say_nothing(file: str) -> None:
    arrival = SMS.read(Raw(body=(DATA / "sms" / file).read_bytes()), NO_TERMS, now=NOW)

    assert (arrival.said, arrival.thread["ignored"]) == (None, "status_report")


def test_vonage_leaves_out_the_plus() -> None:
    arrival, event = sent("vonage_text.json")

    assert (arrival.address, arrival.delivery_id) == ("+447700900001", "0A0000000123ABCD1")
    assert (event.text, event.channel["keyword"]) == ("STOP", "stop")
    assert event.channel["carrier"] == {"network": "23410"}
    assert event.channel["gateway_fields"]["keyword"] == "STOP"


def test_vonage_sends_parts_one_by_one() -> None:
    _, event = sent("vonage_part.json")

    assert event.channel["concat"] == {"ref": "44", "total": 2, "part": 2}
    assert codes(event) == {"sms_segment_missing", "carrier_metadata_missing", "locale_missing"}


def test_telnyx_tells_the_carrier() -> None:
    arrival, event = sent("telnyx_received.json")

    assert (arrival.address, arrival.delivery_id) == ("+13125550001", "84cca175")
    assert (event.text, event.channel["segments"]) == ("Low water at noon?", 1)
    assert event.channel["carrier"] == {"name": "T-Mobile USA", "line_type": "Wireless"}
    assert codes(event) == {"locale_missing"}


@pytest.mark.parametrize(
    "number", ["12345", "BANK", "whatsapp:+14155550100", "+0415", "+", "+1415555010012345", "+1415\n", "+１４１５", ""]
)
def test_a_sender_that_is_no_number_is_refused(number: str) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        SMS.read(posted({"From": number, "Body": "hi"}), NO_TERMS, now=NOW)

    assert refused.value.details[0]["pointer"] == "/From"


@pytest.mark.parametrize("number", [None, 14155550100, "14155550100", "+14155550100\n", "+0", "+1" + "4" * 15])
def test_a_number_among_the_signals_is_as_of_e164(number: Any) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        SMS.normalize(Said(message="hi", signals={"from_e164": number}))

    assert refused.value.details[0]["pointer"] == "/input/context/channel_signals/from_e164"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"hello": 1}, "/"),
        ({"msisdn": "447700900001", "text": " "}, "/text"),
        ({"msisdn": "447700900001", "text": "a", "concat": True, "concat-total": "x"}, "/concat-total"),
        ({"data": {}}, "/data/payload"),
        (
            {"data": {"event_type": "message.received", "payload": {"from": {"phone_number": "x"}}}},
            "/data/payload/from/phone_number",
        ),
        ({"From": "+14155550100", "Body": "a", "NumSegments": "many"}, "/NumSegments"),
    ],
)
def test_each_fault_of_a_body_is_named_by_its_pointer(body: object, pointer: str) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        SMS.read(posted(body), NO_TERMS, now=NOW)

    assert refused.value.details[0]["pointer"] == pointer


def test_a_form_with_too_many_fields_is_refused() -> None:
    with pytest.raises(ChannelPayloadInvalid):
        SMS.read(Raw(body=b"a=1&" * 1000), NO_TERMS, now=NOW)


@pytest.mark.parametrize(
    ("message", "keyword"),
    [
        ("Stop", "stop"),
        (" UNSUBSCRIBE ", "stop"),
        ("start", "start"),
        ("HELP", "help"),
        ("stop it", None),
        ("yes", None),
    ],
)
def test_words_that_carriers_agree_on_are_told(message: str, keyword: str | None) -> None:
    event = SMS.normalize(Said(message=message, signals={"from_e164": "+14155550100"}))

    assert event.channel.get("keyword") == keyword


def test_characters_that_were_lost_are_told() -> None:
    event = SMS.normalize(Said(message="caf\ufffd", signals={"from_e164": "+14155550100", "carrier": {"name": "x"}}))

    assert codes(event) == {"unicode_downgraded", "locale_missing"}


def test_the_example_of_twilio_is_accepted() -> None:
    """Twilio's documentation, "Validating Signatures from Twilio": the token 12345 and these parameters."""
    form = b"CallSid=CA1234567890ABCDE&Caller=%2B12349013030&Digits=1234&From=%2B12349013030&To=%2B18005551212"
    raw = by_twilio(form, "0/KCTR6DLpKmkAf8muzZqo1nDgQ=", url="https://mycompany.com/myapp.php?foo=1&bar=2")

    with pytest.raises(ChannelPayloadInvalid, match="/text"):
        SMS.read(raw, Terms(secrets=(TOKEN,)), now=NOW)


def test_twilio_vouches_by_the_address_that_it_calls() -> None:
    form = b"From=%2B14155550100&Body=hi"
    good = twilio_signature(f"{URL}BodyhiFrom+14155550100")
    inside = "http://10.0.0.7:8765/channels/sms/desk"

    assert SMS.read(by_twilio(form, good), Terms(secrets=("old", TOKEN)), now=NOW).is_vouched
    assert SMS.read(
        by_twilio(form, good, url=inside), Terms(secrets=(TOKEN,), settings={"url": URL}), now=NOW
    ).is_vouched
    for wrong in (
        by_twilio(form, good, url=inside),
        by_twilio(form + b"&x=1", good),
        by_twilio(b"From=%2B14155550100&Body=ho", good),
        by_twilio(form, ""),
        by_twilio(form, "é"),
        by_twilio(form, twilio_signature(f"{URL}BodyhiFrom+14155550100", token="another")),
        Raw(body=form, url=URL),
    ):
        with pytest.raises(WebhookSignatureInvalid):
            SMS.read(wrong, Terms(secrets=(TOKEN,)), now=NOW)


def test_twilio_signs_json_by_its_hash_in_the_address() -> None:
    body = b'{"From": "+14155550100", "Body": "hi"}'
    url = f"{URL}?bodySHA256={hashlib.sha256(body).hexdigest()}"

    assert SMS.read(by_twilio(body, twilio_signature(url), url=url), Terms(secrets=(TOKEN,)), now=NOW).is_vouched
    with pytest.raises(WebhookSignatureInvalid, match="hash"):
        SMS.read(by_twilio(body + b" ", twilio_signature(url), url=url), Terms(secrets=(TOKEN,)), now=NOW)
    with pytest.raises(WebhookSignatureInvalid, match="hash"):
        SMS.read(by_twilio(body, twilio_signature(URL)), Terms(secrets=(TOKEN,)), now=NOW)


def test_another_gateway_may_be_signed_as_standard_webhooks_says_or_allowed_unsigned() -> None:
    body = b'{"msisdn": "447700900001", "text": "hi"}'

    assert SMS.read(signed(body), Terms(secrets=(SECRET,)), now=NOW).is_vouched
    assert not SMS.read(Raw(body=body), Terms(secrets=(SECRET,), settings={"unsigned": True}), now=NOW).is_vouched
    with pytest.raises(WebhookSignatureInvalid):
        SMS.read(Raw(body=body), Terms(secrets=(SECRET,)), now=NOW)
