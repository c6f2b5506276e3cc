"""Replies go out through real servers that take them, refuse them and break off in the middle."""

import asyncio
import contextlib
import hashlib
import json
import sqlite3
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.eventually import eventually
from tests.story.conftest import BRISK
from tests.story.postmen import DROP, STALL, MailServer, WebServer, a_mail_server, a_web_server
from turnkeeper import AgentTurn, HeardWell, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.channels.signatures import check_signature
from turnkeeper.channels.smtp_sender import mail_of, server_of
from turnkeeper.errors import EnvelopeInvalid
from turnkeeper.keeping.bindings import with_new
from turnkeeper.model.binding import Binding, BindingTerms, ReplyKind, ReplyPath, Strangers
from turnkeeper.model.ids import AgentId, BindingId, DeliveryId, RunId, SessionId, TenantId
from turnkeeper.model.outbound import Delivery, DeliveryStatus, ReplyTo
from turnkeeper.ports.channels import Raw, Terms
from turnkeeper.testing.clock import NOON

SECRET = "whsec_" + "c2VjcmV0LW9mLXRoZS1yZXBseQ=="
QUICK: dict[str, Any] = {"outbox_first_seconds": 0.01, "outbox_most_seconds": 0.05, "outbox_send_seconds": 10.0}


@pytest.fixture
def lone(tmp_path: Path) -> Settings:
    """A place on SQLite, for what no store has a say in."""
    return Settings(database=str(tmp_path / "lone.db"), **BRISK)  # type: ignore[arg-type]


def a_mail(text: str = "Hello", *, number: int = 1, sender: str = "ann@example.org", **headers: str) -> Raw:
    given = {"Message-ID": f"<{number}@example.org>", "Subject": "A table, für zwei", **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items())
    body = f"From: {sender}\r\nTo: desk@example.net\r\n{lines}Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n"
    return Raw(body=body.encode(), media_type="message/rfc822")


@contextlib.asynccontextmanager
async def a_mailing_keeper(settings: Settings, server: MailServer, **more: Any) -> AsyncIterator[Turnkeeper]:
    wanted = replace(settings, **{**QUICK, "smtp_url": server.url, "mail_from": "desk@example.net", **more})
    async with Turnkeeper.open(settings=wanted) as keeper:
        yield keeper


async def a_mailbox(keeper: Turnkeeper, **terms: Any) -> Binding:
    mailed = BindingTerms(name="mail", strangers=Strangers.GUEST, reply=ReplyPath(kind=ReplyKind.SMTP), **terms)
    return await keeper.bindings.create("email", mailed)


async def a_hook(keeper: Turnkeeper, server: WebServer) -> Binding:
    reply = ReplyPath(kind=ReplyKind.HTTP, url=server.url, secret=SECRET)
    return await keeper.bindings.create("email", BindingTerms(name="hook", strangers=Strangers.GUEST, reply=reply))


async def send(keeper: Turnkeeper, binding: Binding, raw: Raw | None = None) -> str:
    """A message whose answer is on its way; returns the id of the session."""
    delivered = await keeper.channels.deliver("email", binding.id, raw or a_mail())
    assert delivered.ticket is not None
    reply = await keeper.reply_to(delivered.ticket)
    return reply.session_id


def echoed(text: str, turn: int = 1) -> str:
    return f"You said {text!r}. This is turn {turn} of our conversation."


async def only_delivery(keeper: Turnkeeper) -> Delivery:
    [delivery] = await keeper.deliveries.list()
    return delivery


async def settled(keeper: Turnkeeper, status: DeliveryStatus) -> Delivery:
    async def is_settled() -> bool:
        return (await only_delivery(keeper)).status is status

    await eventually(is_settled)
    return await only_delivery(keeper)


async def test_a_reply_by_mail_stands_in_the_thread_of_what_it_answers(settings: Settings) -> None:
    async with a_mail_server() as server, a_mailing_keeper(settings, server) as keeper:
        await send(keeper, await a_mailbox(keeper), a_mail("Grüß Gott", References="<a@x.example> <b@x.example>"))
        delivery = await settled(keeper, DeliveryStatus.SENT)

    [mail] = server.mails
    assert mail["Message-ID"] == f"<{delivery.id}@example.net>"
    assert mail["In-Reply-To"] == "<1@example.org>"
    assert mail["References"] == "<a@x.example> <b@x.example> <1@example.org>"
    assert (mail["From"], mail["To"]) == ("desk@example.net", "ann@example.org")
    assert mail["Subject"] == "Re: A table, für zwei"
    assert mail["Auto-Submitted"] == "auto-replied"
    assert mail.get_content().strip() == echoed("Grüß Gott")
    assert (delivery.attempts, delivery.error) == (1, None)


async def test_a_reply_over_http_is_signed_and_named_by_its_delivery(settings: Settings) -> None:
    async with a_web_server() as server, Turnkeeper.open(settings=replace(settings, **QUICK)) as keeper:
        session_id = await send(keeper, await a_hook(keeper, server))
        delivery = await settled(keeper, DeliveryStatus.SENT)

    [posted] = server.posted
    raw = Raw(body=posted.body, headers=posted.headers)
    assert check_signature(raw, Terms(secrets=(SECRET,)), now=float(posted.headers["webhook-timestamp"])) == 0
    assert posted.headers["idempotency-key"] == posted.headers["webhook-id"] == delivery.id
    assert posted.said == {
        "delivery_id": delivery.id,
        "session_id": session_id,
        "run_id": delivery.run_id,
        "channel": "email",
        "to": "ann@example.org",
        "thread": {"message_id": "<1@example.org>", "references": [], "subject": "A table, für zwei"},
        "text": echoed("Hello"),
    }


@pytest.mark.parametrize("refusal", ["451 later", "421 later"])
async def test_a_mail_that_was_refused_for_now_goes_out_later_once(lone: Settings, refusal: str) -> None:
    script = deque([refusal, refusal])
    async with a_mail_server(recipients=script) as server, a_mailing_keeper(lone, server) as keeper:
        await send(keeper, await a_mailbox(keeper))
        delivery = await settled(keeper, DeliveryStatus.SENT)

    assert (len(server.mails), delivery.attempts) == (1, 3)


async def test_a_connection_that_broke_before_the_content_is_tried_again(lone: Settings) -> None:
    async with a_mail_server(recipients=deque([DROP])) as server, a_mailing_keeper(lone, server) as keeper:
        await send(keeper, await a_mailbox(keeper))
        delivery = await settled(keeper, DeliveryStatus.SENT)

    assert (len(server.mails), delivery.attempts) == (1, 2)


async def test_a_content_that_the_server_says_it_did_not_take_is_tried_again(lone: Settings) -> None:
    async with a_mail_server(contents=deque(["452 full"])) as server, a_mailing_keeper(lone, server) as keeper:
        await send(keeper, await a_mailbox(keeper))
        delivery = await settled(keeper, DeliveryStatus.SENT)

    assert (len(server.mails), delivery.attempts) == (1, 2)


@pytest.mark.parametrize("moment", ["recipients", "contents"])
async def test_a_mail_that_was_refused_for_good_fails_and_says_why(lone: Settings, moment: str) -> None:
    script = {moment: deque(["550 no such user"])}
    async with a_mail_server(**script) as server, a_mailing_keeper(lone, server) as keeper:
        await send(keeper, await a_mailbox(keeper))
        delivery = await settled(keeper, DeliveryStatus.FAILED)

    assert (server.mails, delivery.attempts) == ([], 1)
    assert delivery.error == "The mail server refused it (550)."


async def test_a_mail_server_that_is_not_there_is_asked_a_limited_number_of_times(lone: Settings) -> None:
    async with a_mail_server() as server:
        gone = replace(server)
    async with a_mailing_keeper(lone, gone, outbox_attempts=3) as keeper:
        await send(keeper, await a_mailbox(keeper))
        delivery = await settled(keeper, DeliveryStatus.FAILED)

    assert delivery.attempts == 3
    assert "before the mail was handed over" in (delivery.error or "")


async def test_a_mail_that_may_have_gone_out_is_unknown_and_never_repeated_silently(settings: Settings) -> None:
    async with a_mail_server(contents=deque([DROP])) as server, a_mailing_keeper(settings, server) as keeper:
        binding = await a_mailbox(keeper)
        await send(keeper, binding)
        unknown = await settled(keeper, DeliveryStatus.UNKNOWN)
        await send(keeper, binding, a_mail("More", number=2))
        await eventually(lambda: _has(server, 2))

        again = await keeper.deliveries.retry(unknown.id)
        await eventually(lambda: _has(server, 3))

    assert [mail.get_content().strip() for mail in server.mails] == [
        echoed("Hello"),
        echoed("More", turn=2),
        echoed("Hello"),
    ]
    assert server.mails[0]["Message-ID"] == server.mails[2]["Message-ID"] == f"<{again.id}@example.net>"
    assert "after the mail was handed over" in (unknown.error or "")


async def _has(server: MailServer, count: int) -> bool:
    return len(server.mails) == count


async def test_a_mail_server_that_never_answers_leaves_it_unknown(lone: Settings) -> None:
    async with (
        a_mail_server(contents=deque([STALL])) as server,
        a_mailing_keeper(lone, server, outbox_send_seconds=0.4) as keeper,
    ):
        await send(keeper, await a_mailbox(keeper))
        await settled(keeper, DeliveryStatus.UNKNOWN)

    assert len(server.mails) == 1


async def test_a_node_that_goes_away_in_the_middle_of_a_mail_says_that_nobody_knows(lone: Settings) -> None:
    async with a_mail_server(contents=deque([STALL])) as server:
        async with a_mailing_keeper(lone, server, grace_seconds=0.05) as keeper:
            await send(keeper, await a_mailbox(keeper))
            await eventually(lambda: _has(server, 1))
        async with a_mailing_keeper(lone, server) as keeper:
            delivery = await only_delivery(keeper)

    assert delivery.status is DeliveryStatus.UNKNOWN


@pytest.mark.parametrize("answer", ["503", "429 Retry-After: 0", "408", "500", DROP])
async def test_what_a_receiver_did_not_take_for_certain_is_repeated_under_one_key(lone: Settings, answer: str) -> None:
    async with a_web_server(answer, answer) as server, Turnkeeper.open(settings=replace(lone, **QUICK)) as keeper:
        await send(keeper, await a_hook(keeper, server))
        delivery = await settled(keeper, DeliveryStatus.SENT)

    assert [posted.headers["idempotency-key"] for posted in server.posted] == [delivery.id] * 3
    assert len({posted.body for posted in server.posted}) == 1


@pytest.mark.parametrize("answer", ["400", "401", "404", "301 Location: /elsewhere"])
async def test_what_a_receiver_refuses_fails_at_once(lone: Settings, answer: str) -> None:
    async with a_web_server(answer) as server, Turnkeeper.open(settings=replace(lone, **QUICK)) as keeper:
        await send(keeper, await a_hook(keeper, server))
        delivery = await settled(keeper, DeliveryStatus.FAILED)

    assert (len(server.posted), delivery.attempts) == (1, 1)
    assert delivery.error == f"The receiver answered with {answer[:3]}."


async def test_a_receiver_that_never_answers_leaves_it_unknown_in_the_end(lone: Settings) -> None:
    quick = {**QUICK, "outbox_send_seconds": 0.3, "outbox_attempts": 2}
    async with (
        a_web_server(STALL, STALL) as server,
        Turnkeeper.open(settings=replace(lone, **quick)) as keeper,
    ):
        await send(keeper, await a_hook(keeper, server))
        await settled(keeper, DeliveryStatus.UNKNOWN)

    assert len(server.posted) == 2


async def test_a_question_goes_out_when_it_is_asked_and_the_answer_to_it_at_the_end(settings: Settings) -> None:
    async with a_mail_server() as server, a_mailing_keeper(settings, server) as keeper:

        @keeper.agent("booker")
        async def booker(turn: AgentTurn) -> str:
            return f"Booked for {await turn.ask('For how many?')}."

        binding = await a_mailbox(keeper, agent="booker")
        await send(keeper, binding)
        await eventually(lambda: _has(server, 1))
        asked = str(server.mails[0]["Message-ID"])
        await send(keeper, binding, a_mail("four", number=2, In_Reply_To=asked, References=f"<1@example.org> {asked}"))
        await eventually(lambda: _has(server, 2))

    assert [mail.get_content().strip() for mail in server.mails] == ["For how many?", "Booked for four."]
    assert server.mails[1]["In-Reply-To"] == "<2@example.org>"
    assert server.mails[1]["References"] == f"<1@example.org> {asked} <2@example.org>"


async def test_who_was_not_heard_well_is_asked_to_say_it_again(settings: Settings) -> None:
    async with a_web_server() as server, Turnkeeper.open(settings=replace(settings, **QUICK)) as keeper:
        keeper.agent("payer", critic=HeardWell())(lambda turn: "Paid.")
        reply = ReplyPath(kind=ReplyKind.HTTP, url=server.url, secret=SECRET)
        terms = BindingTerms(name="phone", agent=AgentId("payer"), strangers=Strangers.GUEST, reply=reply)
        phone = await keeper.bindings.create("voice", terms)
        said = {"caller": "+14155550100", "message": "pay bob", "asr": {"tokens": [{"text": "pay", "confidence": 0.2}]}}

        delivered = await keeper.channels.deliver("voice", phone.id, Raw(body=json.dumps(said).encode()))
        assert delivered.ticket is not None
        with pytest.raises(TurnkeeperError, match="Please say it again"):
            await keeper.reply_to(delivered.ticket)
        delivery = await settled(keeper, DeliveryStatus.SENT)

    assert delivery.text == "I did not hear you well. Please say it again."
    assert len(server.posted) == 1


async def test_a_turn_that_fails_sends_nothing(settings: Settings) -> None:
    async with a_mail_server() as server, a_mailing_keeper(settings, server) as keeper:

        @keeper.agent("failing")
        async def failing(turn: AgentTurn) -> str:
            raise RuntimeError("as told")

        delivered = await keeper.channels.deliver("email", (await a_mailbox(keeper, agent="failing")).id, a_mail())
        assert delivered.ticket is not None
        with pytest.raises(Exception, match="failed"):
            await keeper.reply_to(delivered.ticket)

        assert await keeper.deliveries.list() == []


async def test_a_reset_by_mail_is_answered_by_mail(settings: Settings) -> None:
    async with a_mail_server() as server, a_mailing_keeper(settings, server) as keeper:
        binding = await a_mailbox(keeper)
        await send(keeper, binding)
        await send(keeper, binding, a_mail("/reset", number=2))
        await eventually(lambda: _has(server, 2))

    assert server.mails[1].get_content().strip() == "We start afresh."


async def test_what_is_left_of_a_binding_that_is_gone_fails(settings: Settings) -> None:
    async with a_mail_server(recipients=deque(["451 later"])) as server:
        async with a_mailing_keeper(
            settings, server, outbox_first_seconds=3600.0, outbox_most_seconds=3600.0
        ) as keeper:
            binding = await a_mailbox(keeper)
            await send(keeper, binding)
            await eventually(lambda: _has_error(keeper))
            await keeper.bindings.remove(binding.id)
        await _make_due(settings)
        async with a_mailing_keeper(settings, server) as keeper:
            delivery = await settled(keeper, DeliveryStatus.FAILED)

    assert (server.mails, delivery.error) == ([], "The binding is gone, or no longer sends replies.")


async def _has_error(keeper: Turnkeeper) -> bool:
    return (await only_delivery(keeper)).error is not None


async def _make_due(settings: Settings) -> None:
    """Let an hour pass for what waits to be sent."""
    statement = "UPDATE outbox SET due_at = 0"
    if settings.database.startswith("postgres"):
        connection = await asyncpg.connect(settings.database)
        await connection.execute(statement)
        await connection.close()
        return
    with contextlib.closing(sqlite3.connect(settings.database, isolation_level=None)) as file:
        file.execute(statement)


async def test_of_two_nodes_only_one_sends_a_reply(settings: Settings) -> None:
    async with (
        a_web_server() as server,
        Turnkeeper.open(settings=replace(settings, **QUICK)) as keeper,
        Turnkeeper.open(settings=replace(settings, **QUICK)),
    ):
        binding = await a_hook(keeper, server)
        mails = [a_mail(str(number), number=number, sender=f"a{number}@example.org") for number in range(12)]
        await asyncio.gather(*(send(keeper, binding, mail) for mail in mails))

        async def all_are_sent() -> bool:
            return len(await keeper.deliveries.list(status=DeliveryStatus.SENT)) == 12

        await eventually(all_are_sent)

    keys = [posted.headers["idempotency-key"] for posted in server.posted]
    assert len(keys) == len(set(keys)) == 12


# --- the shape of a mail, whatever a stranger put into the thread


def a_letter(address: str = "ann@example.org", **thread: Any) -> Delivery:
    return Delivery(
        tenant=TenantId("acme"),
        id=DeliveryId("dlv_1"),
        session_id=SessionId("sess_1"),
        run_id=RunId("run_1"),
        to=ReplyTo(binding=BindingId("bind_1"), channel="email", address=address, thread=thread),
        text="Hello.\n.\nBcc: nobody@example.org\r\n",
        created_at=NOON,
        due_at=NOON,
    )


@pytest.mark.parametrize(
    "thread",
    [
        {"subject": "Hi\r\nBcc: evil@example.org\r\n\r\nspam"},
        {"subject": "Hi", "message_id": "<a@b>\r\nBcc: evil@example.org"},
        {"message_id": "<a@b>", "references": ["<x@y>\nBcc: evil@example.org", 5, None, "<ok@y>"]},
        {"subject": {"no": "text"}, "message_id": 7, "references": "none"},
        {"subject": "x" * 5000, "message_id": "<" + "y" * 5000 + "@z>"},
    ],
)
def test_nothing_in_a_thread_adds_a_header(thread: dict[str, Any]) -> None:
    written = mail_of(a_letter(**thread), mail_from="desk@example.net").as_bytes()

    head = written.split(b"\r\n\r\n")[0].lower()
    assert b"\nbcc:" not in head
    assert head.count(b"subject:") == 1
    assert max(map(len, written.split(b"\r\n"))) <= 998


@pytest.mark.parametrize(
    "address", ["a b@example.org", "<a@b>", "a@b\r\nX: y", "nobody", "", "ä@example.org", "a@b@c,d"]
)
def test_no_mail_is_written_to_what_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match="address"):
        mail_of(a_letter(address), mail_from="desk@example.net")


def test_every_attempt_is_the_same_mail_byte_for_byte() -> None:
    one, other = (mail_of(a_letter(subject="Grüße"), mail_from="desk@example.net").as_bytes() for _ in range(2))

    assert hashlib.sha256(one).digest() == hashlib.sha256(other).digest()


def test_a_long_thread_keeps_its_beginning_and_its_newest_mails() -> None:
    long = [f"<{number}@x>" for number in range(100)]

    mail = mail_of(a_letter(message_id="<last@x>", references=long), mail_from="desk@example.net")

    kept = str(mail["References"]).split()
    assert (kept[0], kept[1], kept[-2:], len(kept)) == ("<0@x>", "<81@x>", ["<99@x>", "<last@x>"], 21)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("smtp://mail.example.net", ("mail.example.net", 25, False, None, None)),
        ("smtp://mail.example.net?starttls", ("mail.example.net", 587, False, True, None)),
        ("smtps://ann:p%40ss@mail.example.net", ("mail.example.net", 465, True, False, "p@ss")),
        ("smtp://mail.example.net:2525", ("mail.example.net", 2525, False, None, None)),
    ],
)
def test_the_address_of_a_mail_server_says_how_it_is_reached(url: str, told: tuple[object, ...]) -> None:
    server = server_of(url)

    assert (server.host, server.port, server.is_tls, server.starttls, server.password) == told
    assert "p@ss" not in repr(server)


@pytest.mark.parametrize("url", ["mail.example.net", "http://mail.example.net", "smtp://", "smtp://a:b@c:pass"])
def test_what_is_no_address_of_a_mail_server_is_refused_without_a_word_of_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="smtp_url") as refused:
        server_of(url)

    assert "pass@" not in str(refused.value)


async def test_no_binding_answers_by_mail_without_a_mail_server(lone: Settings) -> None:
    async with Turnkeeper.open(settings=lone) as keeper:
        with pytest.raises(EnvelopeInvalid) as refused:
            await a_mailbox(keeper)

    assert "smtp_url" in refused.value.details[0]["message"]


@pytest.mark.parametrize(
    "path",
    [
        {"url": "ftp://example.org/x", "secret": SECRET},
        {"url": "http://user:word@example.org/x", "secret": SECRET},
        {"url": "https://example.org/x", "secret": "not base64 at all"},
        {"url": "https://example.org/x"},
        {"url": "https://", "secret": SECRET},
    ],
)
async def test_no_binding_posts_to_nowhere_or_unsigned(lone: Settings, path: dict[str, str]) -> None:
    reply = ReplyPath(kind=ReplyKind.HTTP, **path)

    async with Turnkeeper.open(settings=lone) as keeper:
        with pytest.raises(EnvelopeInvalid, match="/reply"):
            await keeper.bindings.create("sms", with_new(BindingTerms(name="x"), reply=reply))
