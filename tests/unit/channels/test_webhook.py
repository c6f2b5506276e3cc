"""Standard Webhooks: who holds the secret is believed, and nothing of anybody else is even read."""

import json

import pytest

from tests.unit.channels.arriving import NOW, OTHER_SECRET, SECRET, codes, posted, signature, signed
from turnkeeper.channels.webhook import WebhookChannel
from turnkeeper.errors import ChannelPayloadInvalid, WebhookSignatureInvalid
from turnkeeper.model.event import EventType
from turnkeeper.ports.channels import Raw, Said, Terms

WEBHOOK = WebhookChannel()
TERMS = Terms(secrets=(SECRET,))
PAID = {"type": "invoice.paid", "timestamp": "2026-03-02T08:30:00Z", "data": {"id": 7, "lines": [1, 2.5, None, "é"]}}
BODY = json.dumps(PAID).encode()


def test_the_vector_that_the_reference_libraries_publish_is_accepted() -> None:
    """From the tests of the libraries in the repository of the specification, standard-webhooks/standard-webhooks."""
    raw = Raw(
        body=b'{"test": 2432232314}',
        headers={
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        },
    )

    for secret in ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"):
        arrival = WEBHOOK.read(raw, Terms(secrets=(secret,)), now=1614265330)
        assert (arrival.is_vouched, arrival.delivery_id) == (True, "msg_p5jXN8AQM9LWM0D4loKWxJek")


def test_what_was_signed_arrives_as_it_was_sent() -> None:
    arrival = WEBHOOK.read(signed(BODY), TERMS, now=NOW)

    assert (arrival.address, arrival.delivery_id, arrival.is_vouched) == ("webhook", "msg_1", True)
    assert arrival.said is not None
    assert arrival.said.payload == PAID
    assert arrival.said.signals["signature"] == {"scheme": "standard-webhooks/v1", "verified": True, "key_id": "0"}


@pytest.mark.parametrize("late", [-300, 0, 300])
def test_a_clock_may_differ_by_five_minutes(late: int) -> None:
    assert WEBHOOK.read(signed(BODY), TERMS, now=NOW + late).is_vouched


@pytest.mark.parametrize("late", [-301, 301])
def test_a_clock_that_differs_more_is_refused(late: int) -> None:
    with pytest.raises(WebhookSignatureInvalid, match="seconds away"):
        WEBHOOK.read(signed(BODY), TERMS, now=NOW + late)


def test_a_binding_may_be_more_patient() -> None:
    terms = Terms(secrets=(SECRET,), settings={"tolerance_seconds": 900})

    assert WEBHOOK.read(signed(BODY), terms, now=NOW + 900).is_vouched


def test_while_secrets_rotate_either_is_good_and_the_key_is_told() -> None:
    arrival = WEBHOOK.read(signed(BODY, secret=OTHER_SECRET), Terms(secrets=(SECRET, OTHER_SECRET)), now=NOW)

    assert arrival.said is not None
    assert arrival.said.signals["signature"]["key_id"] == "1"


def test_one_good_signature_among_several_is_enough() -> None:
    listed = f"v1a,AAAA v1,{signature(b'another')} v1,not-base64 v1,{signature(BODY)}"

    assert WEBHOOK.read(signed(BODY, webhook_signature=listed), TERMS, now=NOW).is_vouched


@pytest.mark.parametrize(
    "headers",
    [
        {"webhook-signature": ""},
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": "v1a,AAAA"},
        {"webhook-signature": "v2," + signature(BODY)},
        {"webhook-signature": signature(BODY)},
        {"webhook-id": "msg_2"},
        {"webhook-id": ""},
        {"webhook-id": "msg_1.1"},
        {"webhook-timestamp": str(int(NOW) + 1)},
        {"webhook-timestamp": "now"},
        {"webhook-timestamp": f" {int(NOW)}"},
        {"webhook-timestamp": "9" * 400},
    ],
)
def test_whatever_of_the_headers_is_wrong_is_refused(headers: dict[str, str]) -> None:
    good = signed(BODY)

    with pytest.raises(WebhookSignatureInvalid):
        WEBHOOK.read(Raw(body=BODY, headers={**good.headers, **headers}), TERMS, now=NOW)


def test_an_id_with_a_dot_is_refused_even_if_it_is_signed() -> None:
    with pytest.raises(WebhookSignatureInvalid, match="without a dot"):
        WEBHOOK.read(signed(BODY, delivery_id="msg.1"), TERMS, now=NOW)


def test_a_changed_body_is_refused_before_it_is_read() -> None:
    with pytest.raises(WebhookSignatureInvalid):
        WEBHOOK.read(Raw(body=b"{no json", headers=signed(BODY).headers), TERMS, now=NOW)


@pytest.mark.parametrize("secret", ["whsec_", "whsec_%%%", "", "ü"])
def test_a_secret_that_is_none_lets_nobody_in_and_is_not_told(secret: str) -> None:
    with pytest.raises(WebhookSignatureInvalid) as refused:
        WEBHOOK.read(signed(BODY), Terms(secrets=(secret,)), now=NOW)

    assert "%%%" not in str(refused.value)


def test_without_a_signature_only_a_binding_that_says_so_takes_it() -> None:
    unsigned = Terms(secrets=(SECRET,), settings={"unsigned": True})

    arrival = WEBHOOK.read(posted(PAID), unsigned, now=NOW)

    assert not arrival.is_vouched
    assert arrival.said is not None
    assert codes(WEBHOOK.normalize(arrival.said)) == {"signature_absent_allowed"}
    with pytest.raises(WebhookSignatureInvalid):
        WEBHOOK.read(posted(PAID), TERMS, now=NOW)
    with pytest.raises(WebhookSignatureInvalid):
        WEBHOOK.read(signed(BODY, webhook_signature="v1,AAAA"), unsigned, now=NOW)
    with pytest.raises(WebhookSignatureInvalid):
        WEBHOOK.read(posted(PAID), Terms(), now=NOW)


@pytest.mark.parametrize("raw", [signed(BODY, webhook_attempt="3"), signed(BODY, x_delivery_attempt="3")])
def test_a_delivery_that_is_repeated_says_so(raw: Raw) -> None:
    arrival = WEBHOOK.read(raw, TERMS, now=NOW)

    assert arrival.said is not None
    assert arrival.said.signals["delivery_attempt"] == 3
    assert codes(WEBHOOK.normalize(arrival.said)) == {"webhook_redelivery"}


@pytest.mark.parametrize("attempt", ["0", "-1", "1.5", "two", "", "9" * 5000])
def test_an_attempt_that_is_no_number_is_refused(attempt: str) -> None:
    with pytest.raises(ChannelPayloadInvalid):
        WEBHOOK.read(signed(BODY, webhook_attempt=attempt), TERMS, now=NOW)


@pytest.mark.parametrize("attempt", [0, -1, 1.5, "2", True])
def test_an_attempt_among_the_signals_that_is_no_number_is_named(attempt: object) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        WEBHOOK.normalize(Said(payload={}, signals={"delivery_attempt": attempt}))

    assert refused.value.details[0]["pointer"] == "/input/context/channel_signals/delivery_attempt"


def test_a_signature_that_nobody_checked_is_told() -> None:
    event = WEBHOOK.normalize(Said(payload={}, signals={"signature": {"scheme": "hmac", "verified": False}}))

    assert (event.type, codes(event)) == (EventType.EVENT_ENVELOPE, {"signature_not_verified"})


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"{", b""])
def test_a_signed_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(ChannelPayloadInvalid):
        WEBHOOK.read(signed(body), TERMS, now=NOW)
