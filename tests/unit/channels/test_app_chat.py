"""What an app sends becomes a text message; typing alone becomes nothing."""

import pytest

from tests.unit.channels.arriving import NO_TERMS, NOW, SECRET, an_attachment, as_json, codes, posted, signed
from turnkeeper.channels.app_chat import AppChatChannel
from turnkeeper.errors import ChannelPayloadInvalid, WebhookSignatureInvalid
from turnkeeper.model.event import Severity
from turnkeeper.ports.channels import Raw, Said, Terms

CHAT = AppChatChannel()


def test_a_message_is_read_with_all_that_came_along() -> None:
    photo = an_attachment()
    body = {
        "message": "Send back the kettle",
        "user": "u-7",
        "locale": "en-GB",
        "typing": {"duration_ms": 4200},
        "user_role_hint": "customer",
        "device": "phone",
        "attachments": [as_json(photo)],
        "delivery_id": "d-1",
    }

    arrival = CHAT.read(posted(body), NO_TERMS, now=NOW)

    assert (arrival.address, arrival.delivery_id, arrival.is_vouched) == ("u-7", "d-1", False)
    assert arrival.said == Said(
        message="Send back the kettle",
        locale="en-GB",
        signals={"typing": {"duration_ms": 4200}, "user_role_hint": "customer", "device": "phone"},
        attachments=(photo,),
    )


@pytest.mark.parametrize("typing", [True, {}, {"duration_ms": 10}])
def test_typing_alone_says_nothing(typing: object) -> None:
    arrival = CHAT.read(posted({"user": "u-7", "typing": typing}), NO_TERMS, now=NOW)

    assert (arrival.address, arrival.said) == ("u-7", None)


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"user": "u"}, ["/message"]),
        ({"user": "u", "message": " \n"}, ["/message"]),
        ({"message": "hi"}, ["/user"]),
        ({"message": "hi", "user": " "}, ["/user"]),
        ({"message": 1, "user": 2}, ["/user", "/message", "/message"]),
        ({"message": "hi", "user": "u", "typing": 1}, ["/typing"]),
        ({"message": "hi", "user": "u", "typing": {"duration_ms": -1}}, ["/typing/duration_ms"]),
        ({"message": "hi", "user": "u", "name": "Ada"}, ["/name"]),
        (
            {"message": "hi", "user": "u", "attachments": [as_json(an_attachment()) | {"sha256": "AB"}]},
            ["/attachments/0/sha256"],
        ),
        (
            {
                "message": "hi",
                "user": "u",
                "attachments": [{"artifact_id": "a", "media_type": "b", "sha256": "0" * 64}],
            },
            ["/attachments/0/uri"],
        ),
        ({"message": "hi", "user": "u", "attachments": {}}, ["/attachments"]),
        ({"message": "hi", "user": "u", "attachments": [as_json(an_attachment())] * 101}, ["/attachments"]),
    ],
)
def test_each_fault_of_a_body_is_named_by_its_pointer(body: object, pointers: list[str]) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        CHAT.read(posted(body), NO_TERMS, now=NOW)

    assert [fault["pointer"] for fault in refused.value.details] == pointers


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"user": "u", "message": NaN}',
        b'{"user": "u", "message": "a", "n": 1e999}',
        b'{"user": "u", "message": "a", "n": ' + b"9" * 5000 + b"}",
        b'{"user": "u", "user": "v", "message": "a"}',
        b'{"user": "u", "message": "\xff"}',
        b'{"user": "u", "message": "' + b"a" * 9_000_000 + b'"}',
        b'{"user": "u", "message": "a", "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(ChannelPayloadInvalid):
        CHAT.read(Raw(body=body), NO_TERMS, now=NOW)


def test_half_characters_and_nul_are_replaced() -> None:
    arrival = CHAT.read(
        Raw(body=b'{"user": "u", "message": "a\\u0000b\\ud800c", "x": {"\\u0000": "\\udfff"}}'), NO_TERMS, now=NOW
    )

    assert arrival.said is not None
    assert arrival.said.message == "a\ufffdb\ufffdc"
    assert arrival.said.signals == {"x": {"\ufffd": "\ufffd"}}


def test_a_message_with_half_characters_is_told_to_be_repaired() -> None:
    event = CHAT.normalize(Said(message="a\x00b\ud800", locale="en"))

    assert (event.text, codes(event)) == ("a\ufffdb\ufffd", {"text_repaired"})


def test_a_signature_vouches_and_a_wrong_one_is_refused() -> None:
    body = b'{"user": "u", "message": "hi"}'
    terms = Terms(secrets=(SECRET,))

    assert CHAT.read(signed(body), terms, now=NOW).is_vouched
    assert not CHAT.read(Raw(body=body), terms, now=NOW).is_vouched
    with pytest.raises(WebhookSignatureInvalid):
        CHAT.read(signed(body), terms, now=NOW + 301)


def test_attachments_without_words_are_an_event_and_nothing_at_all_is_none() -> None:
    event = CHAT.normalize(Said(attachments=(an_attachment(),), locale="en"))

    assert (event.text, event.attachments) == ("", (an_attachment(),))
    assert event.channel["attachments_count"] == 1
    assert [(each.code, each.severity) for each in event.warnings] == [
        ("empty_message_with_attachments", Severity.INFO)
    ]
    with pytest.raises(ChannelPayloadInvalid) as refused:
        CHAT.normalize(Said(message="  "))
    assert refused.value.details[0]["pointer"] == "/input/message"


def test_a_hint_at_another_role_is_told() -> None:
    said = Said(message="hi", locale="en", signals={"user_role_hint": "admin"}, user_role="customer")

    assert codes(CHAT.normalize(said)) == {"role_hint_mismatch"}
    assert codes(CHAT.normalize(Said(message="hi", locale="en", signals={"user_role_hint": "admin"}))) == set()


@pytest.mark.parametrize(
    ("signals", "pointer"),
    [
        ({"typing": "yes"}, "/typing"),
        ({"user_role_hint": 7}, "/user_role_hint"),
        ({"name": "sms"}, "/name"),
        ({"x": float("nan")}, "/x"),
        ({"x": {"y/z": object()}}, "/x/y~1z"),
    ],
)
def test_a_signal_of_the_wrong_shape_is_named(signals: dict[str, object], pointer: str) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        CHAT.normalize(Said(message="hi", signals=signals))

    assert refused.value.details[0]["pointer"] == f"/input/context/channel_signals{pointer}"


def test_signals_that_are_nested_without_end_are_refused() -> None:
    deep: dict[str, object] = {}
    deep["x"] = deep

    with pytest.raises(ChannelPayloadInvalid):
        CHAT.normalize(Said(message="hi", signals=deep))
