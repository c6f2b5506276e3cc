"""Mails of every kind, and of each what is said, what is attached and what is odd about it."""

import base64
import hashlib
import re
from typing import Any

import pytest

from tests.unit.channels.arriving import DATA, NO_TERMS, NOW, SECRET, codes, signed
from turnkeeper.channels.email import EmailChannel
from turnkeeper.errors import AttachmentTooLarge, ChannelPayloadInvalid
from turnkeeper.model.event import Attachment, Event
from turnkeeper.ports.channels import Arrival, Raw, Said, Terms

EMAIL = EmailChannel()
MAILS = DATA / "email"
TRUSTING = Terms(settings={"authserv_id": "mx.harbour.example"})
UNPROVEN = "sender_unverified"
QUOTED = "quoted_text_stripped"
HTML = "html_only_body"

PNG = b"\x89PNG\r\n\x1a\n small picture"
PDF = b"%PDF-1.4 a small document"

# Of each mail: its text, its attachments by name and type, its warnings beside locale_missing.
EXPECTED: dict[str, tuple[str, list[tuple[str | None, str]], set[str]]] = {
    "alternative": ("Two nights, please.", [], {UNPROVEN}),
    "alternative_blank_plain": ("Three nights.", [], {UNPROVEN, HTML}),
    "attachment_only": ("", [("hull.png", "image/png")], {UNPROVEN}),
    "authenticated": ("It is really me.", [], set()),
    "authenticated_by_stranger": ("Believe my own server.", [], {UNPROVEN}),
    "authenticated_other_domain": ("It is not really me.", [], {UNPROVEN}),
    "broken_base64": ("Hello world", [], {UNPROVEN}),
    "broken_encoded_words": ("Still readable.", [], {UNPROVEN}),
    "broken_headers": (
        "Broken\n\nAll the same, it is a mail.",
        [],
        {UNPROVEN, "thread_headers_missing"},
    ),
    "calendar_invite": ("Shall we meet?", [(None, "text/calendar")], {UNPROVEN}),
    "empty_and_external_parts": ("Two files.", [], {UNPROVEN, "attachment_skipped"}),
    "encoded_word_filename": ("The bill.", [("Rechnung März.pdf", "application/pdf")], {UNPROVEN}),
    "encoded_words": ("Zwei Boote.", [], {UNPROVEN}),
    "format_flowed": ("We come with two boats and four people.\nMind the dog.", [], {UNPROVEN}),
    "format_flowed_delsp": ("明日の朝です。", [], {UNPROVEN}),
    "forwarded_attached": ("See the attached notice.", [("message.eml", "message/rfc822")], {UNPROVEN}),
    "forwarded_inline": (
        "Does this concern us?\n\n---------- Forwarded message ---------\nFrom: Coast Guard <guard@coast.example>\n"
        "Date: Sun, 1 Mar 2026\nSubject: Storm notice\n\nStorm on Friday.",
        [],
        {UNPROVEN},
    ),
    "gb2312": ("码头还有空位吗?鎔", [], {UNPROVEN}),
    "html_only": ("Tide & time:\n\n- high at 6\n- low at noon", [], {UNPROVEN, HTML}),
    "html_quote": ("Yes, both.", [], {UNPROVEN, HTML, QUOTED}),
    "iso_2022_jp": ("金曜日に着きます。", [], {UNPROVEN}),
    "koi8_r": ("Когда отлив?", [], {UNPROVEN}),
    "latin1_quoted_printable": (
        "Café am Überseekai, ein sehr langer Satz, der umbrochen ist.",
        [],
        {UNPROVEN},
    ),
    "missing_boundary": ("Only words here.", [], {UNPROVEN}),
    "missing_end_boundary": ("Cut off.", [("a.png", "image/png")], {UNPROVEN}),
    "nested_multipart": (
        "Papers and picture attached.",
        [("hull.png", "image/png"), ("papers.pdf", "application/pdf")],
        {UNPROVEN},
    ),
    "nul_and_halves": ("one\ufffdtwo", [], {UNPROVEN}),
    "path_filename": ("Look.", [("secrets.bin", "application/octet-stream")], {UNPROVEN}),
    "plain": ("Is berth nine free on Friday?", [], {UNPROVEN}),
    "related_inline_image": ("The crack is here:", [("crack.png", "image/png")], {UNPROVEN, HTML}),
    "reply_below": ("Saturday, after noon.", [], {UNPROVEN, QUOTED}),
    "reply_between": ("Friday.\nNine metres.", [], {UNPROVEN, QUOTED}),
    "reply_german": ("Freitag passt.", [], {UNPROVEN, QUOTED}),
    "reply_header_block": ("Thank you, see you then.", [], {UNPROVEN, QUOTED}),
    "reply_on_top": ("Friday suits us.", [], {UNPROVEN, QUOTED}),
    "reply_original_message": ("We take it.", [], {UNPROVEN, QUOTED}),
    "reply_two_line_attribution": ("Noon, please.", [], {UNPROVEN, QUOTED}),
    "rfc2231_filename": ("The plan.", [("Hafen pläne.pdf", "application/pdf")], {UNPROVEN}),
    "sent_from_device": ("Running late.", [], {UNPROVEN}),
    "several_authors": ("We both come.", [], {UNPROVEN}),
    "signature": ("Please call me back.", [], {UNPROVEN}),
    "signed": ("Signed words.", [("signature.asc", "application/pgp-signature")], {UNPROVEN}),
    "subject_only": ("Please call 555-0100", [], {UNPROVEN}),
    "text_attachment": ("The log is attached.", [("log.txt", "text/plain")], {UNPROVEN}),
    "two_text_parts": ("First part.\nSecond part.", [], {UNPROVEN}),
    "unknown_charset": ("Größe unbekannt", [], {UNPROVEN}),
    "unknown_encoding": ("Read as it is.", [], {UNPROVEN}),
    "utf8_base64": ("Żagle są gotowe ⛵", [], {UNPROVEN}),
    "utf8_headers": ("Bis Freitag.", [], {UNPROVEN}),
    "utf8_without_charset": ("Größe: neun Meter", [], {UNPROVEN}),
    "windows1252_called_latin1": ("She is called “Heron” – blue.", [], {UNPROVEN}),
}
IGNORED = {
    "auto_generated": "auto_generated",
    "auto_reply": "auto_replied",
    "bounce": "bounce",
    "mailing_list": "mailing_list",
}
REFUSED = {"no_sender": "/headers/from", "nothing_at_all": "/body"}


def mail(name: str) -> bytes:
    return (MAILS / f"{name}.eml").read_bytes()


def read(body: bytes, terms: Terms = NO_TERMS) -> Arrival:
    return EMAIL.read(Raw(body=body, media_type="message/rfc822"), terms, now=NOW)


def kept(arrival: Arrival) -> Event:
    """The Event once what came along is kept, as the engine keeps it."""
    assert arrival.said is not None
    attachments = tuple(
        Attachment(
            artifact_id=f"art_{number}",
            media_type=part.media_type,
            sha256=hashlib.sha256(part.content).hexdigest(),
            uri=f"blob://art_{number}",
        )
        for number, part in enumerate(arrival.parts)
    )
    said = arrival.said
    return EMAIL.normalize(
        Said(message=said.message, locale=said.locale, signals=said.signals, attachments=attachments)
    )


def a_mail(*headers: str, body: str = "Hello.") -> bytes:
    return "\n".join(["From: ada@heron.example", "Message-ID: <a@heron.example>", *headers, "", body]).encode()


def test_every_mail_is_expected_and_names_its_document() -> None:
    names = {path.stem for path in MAILS.glob("*.eml")}

    assert names == EXPECTED.keys() | IGNORED.keys() | REFUSED.keys()
    assert len(names) >= 30
    assert [name for name in names if not mail(name).startswith(b"X-Fixture-Of: RFC ")] == []
    assert set(re.findall(r"^\| (\w+)\.eml \|", (MAILS / "README.md").read_text(), re.MULTILINE)) == names


@pytest.mark.parametrize("name", EXPECTED)
def test_a_mail_is_read(name: str) -> None:
    text, attached, warnings = EXPECTED[name]

    arrival = read(mail(name), TRUSTING)
    event = kept(arrival)

    assert event.text == text
    assert [(part.name, part.media_type) for part in arrival.parts] == attached
    assert codes(event) - {"locale_missing"} == warnings


@pytest.mark.parametrize("name", EXPECTED)
def test_the_parts_that_are_told_have_the_hashes_of_what_came(name: str) -> None:
    arrival = read(mail(name))

    assert arrival.said is not None
    told = [(part["sha256"], part["size"], part["media_type"]) for part in arrival.said.signals["parts"]]
    came = [(hashlib.sha256(part.content).hexdigest(), len(part.content), part.media_type) for part in arrival.parts]
    assert told == came


@pytest.mark.parametrize("name", IGNORED)
def test_what_a_machine_wrote_starts_no_run(name: str) -> None:
    arrival = read(mail(name))

    assert (arrival.said, arrival.parts) == (None, ())
    assert arrival.thread["ignored"] == IGNORED[name]


@pytest.mark.parametrize("name", IGNORED)
def test_a_binding_may_take_notices_and_lists_and_never_what_answers_by_itself(name: str) -> None:
    arrival = read(mail(name), Terms(settings={"take_automatic": True}))

    assert (arrival.said is not None) == (IGNORED[name] in ("auto_generated", "mailing_list"))
    assert arrival.said is None or arrival.said.signals["auto_submitted"] == IGNORED[name]


@pytest.mark.parametrize(
    "header",
    [
        "Auto-Submitted: auto-replied; owner=x",
        "Auto-Submitted: AUTO-NOTIFIED",
        "Precedence: bulk",
        "Precedence: auto_reply",
        "X-Autoreply: yes",
        "X-Autorespond: yes",
        "List-Unsubscribe: <mailto:x@y.example>",
        "List-Post: <mailto:x@y.example>",
        "Return-Path: <>",
        "Content-Type: multipart/report; report-type=delivery-status; boundary=x",
    ],
)
def test_every_sign_of_a_machine_is_seen(header: str) -> None:
    assert read(a_mail(header)).said is None


@pytest.mark.parametrize(
    "header", ["Auto-Submitted: no", "Precedence: first-class", "Return-Path: <ada@heron.example>"]
)
def test_a_sign_of_a_person_is_none_of_a_machine(header: str) -> None:
    assert read(a_mail(header)).said is not None


@pytest.mark.parametrize("name", REFUSED)
def test_a_mail_without_a_sender_or_without_anything_is_refused(name: str) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        read(mail(name))

    assert refused.value.details[0]["pointer"] == REFUSED[name]


def test_a_reply_tells_its_thread_and_what_it_answers() -> None:
    arrival = read(mail("reply_on_top"))

    assert (arrival.address, arrival.delivery_id) == ("ada@heron.example", "<reply_on_top@heron.example>")
    assert arrival.thread == {
        "subject": "Re: Your berth",
        "message_id": "<reply_on_top@heron.example>",
        "references": ["<zero@harbour.example>", "<first@harbour.example>"],
    }
    assert arrival.answers == ("<first@harbour.example>", "<zero@harbour.example>")
    assert arrival.said is not None
    signals = arrival.said.signals
    assert signals["in_reply_to"] == "<first@harbour.example>"
    assert signals["date"] == "2026-03-02T08:30:00+00:00"
    assert signals["to"] == ["desk@harbour.example"]
    assert "> Which day do you come?" in signals["whole_text"]


def test_a_mail_without_quote_and_signature_is_not_kept_twice() -> None:
    arrival = read(mail("plain"))

    assert arrival.said is not None
    assert "whole_text" not in arrival.said.signals


def test_headers_are_decoded_for_people() -> None:
    subjects = {name: read(mail(name)).thread["subject"] for name in ("encoded_words", "utf8_headers")}

    assert subjects == {"encoded_words": "Liegeplätze für zwei bitte", "utf8_headers": "Grüße vom Steg"}
    assert read(mail("utf8_headers")).address == "zoë@boote.example"
    assert read(mail("several_authors")).address == "cy@heron.example"


def test_of_a_broken_mail_the_bytes_are_the_name() -> None:
    body = mail("broken_headers")

    arrival = read(body)

    assert arrival.delivery_id == f"sha256:{hashlib.sha256(body).hexdigest()}"
    assert arrival.said is not None
    assert arrival.said.signals["date"] == "the day before yesterday"


def test_a_language_that_a_mail_names_is_its_locale() -> None:
    arrival = read(mail("reply_german"))

    assert arrival.said is not None
    assert arrival.said.locale == "de-DE"


def test_what_is_attached_comes_byte_by_byte() -> None:
    assert [part.content for part in read(mail("nested_multipart")).parts] == [PNG, PDF]
    (forwarded,) = read(mail("forwarded_attached")).parts
    assert b"\nFrom Friday on: storm." in forwarded.content


def test_a_picture_in_the_text_is_told_to_be_inline() -> None:
    arrival = read(mail("related_inline_image"))

    assert arrival.said is not None
    (part,) = arrival.said.signals["parts"]
    assert (part["inline"], part["content_id"], part["filename"]) == (True, "crack@heron.example", "crack.png")


def with_attachment(size: int) -> bytes:
    encoded = base64.encodebytes(b"x" * size).decode()
    return a_mail(
        'Content-Type: multipart/mixed; boundary="mix"',
        body=f"--mix\n\nSee attached.\n--mix\nContent-Type: application/zip\nContent-Disposition: attachment; "
        f"filename=big.zip\nContent-Transfer-Encoding: base64\n\n{encoded}\n--mix--\n",
    )


def test_an_attachment_of_25_megabytes_is_refused() -> None:
    with pytest.raises(AttachmentTooLarge) as refused:
        read(with_attachment(25_000_000))

    assert refused.value.http_status == 413
    assert "25000000" in str(refused.value)


@pytest.mark.parametrize(("size", "fits"), [(1000, True), (1001, False)])
def test_a_binding_says_how_large_an_attachment_may_be(size: int, fits: bool) -> None:
    terms = Terms(settings={"attachment_bytes": 1000})

    if_taken = size if fits else None

    assert taken(with_attachment(size), terms) == if_taken


def taken(body: bytes, terms: Terms) -> int | None:
    try:
        return len(read(body, terms).parts[0].content)
    except AttachmentTooLarge:
        return None


def test_a_mail_that_is_too_large_as_a_whole_is_refused() -> None:
    with pytest.raises(AttachmentTooLarge):
        read(a_mail(body="x" * 2000), Terms(settings={"message_bytes": 1000}))


@pytest.mark.parametrize("setting", ["attachment_bytes", "message_bytes", "body_characters"])
def test_a_setting_that_is_no_number_is_the_fault_of_the_binding(setting: str) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        read(a_mail(), Terms(settings={setting: "many"}))

    assert refused.value.details[0]["pointer"] == f"/settings/{setting}"


def test_a_very_long_text_is_cut_with_a_warning() -> None:
    event = kept(read(a_mail(body="word " * 100), Terms(settings={"body_characters": 9})))

    assert event.text == "word word"
    assert "body_truncated" in codes(event)


def many_parts(count: int) -> bytes:
    return a_mail("Content-Type: multipart/mixed; boundary=m", body="--m\n\nhi\n" * count + "--m--\n")


def nested(levels: int) -> bytes:
    opened = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(levels))
    return b"From: ada@heron.example\n" + opened.encode() + b"\nhi\n"


@pytest.mark.parametrize("body", [many_parts(101), nested(22), nested(101), nested(19) + b"x\n" * 1_100_000])
def test_too_many_parts_or_levels_are_refused(body: bytes) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        read(body)

    assert refused.value.details[0]["pointer"] == "/parts"


def test_as_many_parts_and_levels_as_are_allowed_are_read() -> None:
    assert read(many_parts(99)).said is not None
    assert read(nested(20)).said is not None


@pytest.mark.parametrize(
    "body",
    [
        a_mail('Content-Type: multipart/mixed; boundary=x; y="' + ";" * 500_000),
        a_mail("Subject: " + "=?" * 200_000),
        a_mail(*["X: y"] * 50_000),
        a_mail("References: " + "<a@b> " * 100_000),
        a_mail("Content-Type: text/html", body="x" + "<!--" * 200_000),
        a_mail("Content-Type: text/html", body="x" + '<a "' * 200_000),
        a_mail("Content-Type: text/html", body="x" + "<blockquote>" * 80_000),
        a_mail("Content-Type: text/html", body="x" + "<style>" * 100_000),
        a_mail("Content-Type: text/plain; charset=punycode", body="ü-ab" * 200_000),
        a_mail("Content-Type: text/plain; charset=idna", body="üab." * 200_000),
        a_mail("Content-Type: text/plain; format=flowed", body="a \n" * 300_000),
        a_mail(body="> q\nOn x <a@b\n" * 50_000),
        a_mail(body="On " + "@" * 900 + "\n> q"),
    ],
    ids=range(13),
)
def test_hostile_mail_is_read_in_passing(body: bytes) -> None:
    assert read(body).said is not None


def test_the_newest_of_very_many_references_stay() -> None:
    many = " ".join(f"<{number}@heron.example>" for number in range(5_000))

    references = read(a_mail(f"References: {many}")).thread["references"]

    assert len(references) == 100
    assert references[-1] == "<4999@heron.example>"


def test_a_signature_of_the_server_that_hands_it_in_vouches() -> None:
    assert EMAIL.read(signed(a_mail()), Terms(secrets=(SECRET,)), now=NOW).is_vouched
    assert not read(mail("authenticated"), TRUSTING).is_vouched


@pytest.mark.parametrize(
    ("results", "proven"),
    [
        ("mx.harbour.example; dmarc=pass header.from=heron.example", True),
        ("MX.harbour.example 1; dkim=pass header.i=@heron.example", True),
        ("mx.harbour.example; dkim=pass header.d=example", False),
        ("mx.harbour.example; dkim=pass", False),
        ("mx.harbour.example; dkim=fail header.d=heron.example", False),
        ("mx.harbour.example; dkim=pass header.d=notheron.example", False),
        ("mx.harbour.example; dkim=pass header.d=sub.heron.example", False),
        ("mx.harbour.example; none", False),
        ("mx.harbour.example.mallory.example; dkim=pass header.d=heron.example", False),
        ("mx.mallory.example; x=(mx.harbour.example; dkim=pass header.d=heron.example)", False),
    ],
)
def test_only_the_trusted_server_and_the_domain_of_the_sender_count(results: str, proven: bool) -> None:
    event = kept(read(a_mail(f"Authentication-Results: {results}"), TRUSTING))

    assert (UNPROVEN not in codes(event)) == proven


@pytest.mark.parametrize(
    ("sender", "signed_by", "proven"),
    [
        ("ada@mail.heron.example", "heron.example", True),
        ("ada@HERON.example", "heron.EXAMPLE", True),
        ("ada@otherheron.example", "heron.example", False),
        ("ada@heron.example.mallory.example", "heron.example", False),
    ],
)
def test_a_domain_speaks_for_those_below_it(sender: str, signed_by: str, proven: bool) -> None:
    results = f"Authentication-Results: mx.harbour.example; dkim=pass header.d={signed_by}"
    body = f"From: {sender}\n{results}\n\nHello.".encode()

    assert (UNPROVEN not in codes(kept(read(body, TRUSTING)))) == proven


def test_only_the_topmost_word_of_the_trusted_server_counts() -> None:
    event = kept(
        read(
            a_mail(
                "Authentication-Results: mx.harbour.example; dkim=fail header.d=heron.example",
                "Authentication-Results: mx.harbour.example; dkim=pass header.d=heron.example",
            ),
            TRUSTING,
        )
    )

    assert UNPROVEN in codes(event)


@pytest.mark.parametrize(
    ("signals", "pointer"),
    [
        ({}, "/sender"),
        ({"sender": 7}, "/sender"),
        ({"sender": "nobody"}, "/sender"),
        ({"from": "nobody"}, "/from"),
        ({"sender": "a@b.example", "references": [1]}, "/references/0"),
        ({"sender": "a@b.example", "references": {}}, "/references"),
        ({"sender": "a@b.example", "message_id": []}, "/message_id"),
        ({"sender": "a@b.example", "parts": [{}]}, "/parts/0/sha256"),
        ({"sender": "a@b.example", "parts": "x"}, "/parts"),
    ],
)
def test_a_signal_of_the_wrong_shape_is_named(signals: dict[str, Any], pointer: str) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        EMAIL.normalize(Said(message="hi", signals=signals))

    assert refused.value.details[0]["pointer"] == f"/input/context/channel_signals{pointer}"


def test_the_domain_is_told_of_a_sender_who_is_only_named() -> None:
    event = EMAIL.normalize(Said(message="hi", locale="en", signals={"from": "Ada <ada@Heron.Example>"}))

    assert event.channel["sender_domain"] == "heron.example"
    assert codes(event) == {UNPROVEN, "thread_headers_missing"}
