"""Replies by mail, through the SMTP server of the operator.

The Message-ID is made of the id of the delivery, so every attempt is the same mail. SMTP has no way to ask whether a
mail was taken: what breaks off after its content went over the line is unsure, and only a person may repeat it.
"""

import asyncio
import contextlib
import email.policy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from turnkeeper.model.binding import Binding
from turnkeeper.model.outbound import Delivery
from turnkeeper.ports.sender import Attempt, Sent

if TYPE_CHECKING:
    import aiosmtplib

MOST_REFERENCES = 20
MOST_SUBJECT_CHARS = 200
_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}")
_MESSAGE_ID = re.compile(r"<?([!-;=?-~]{3,250})>?")
_POLICY = email.policy.SMTP.clone(max_line_length=998, cte_type="7bit")


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpServer:
    """Where mail is handed in. `starttls` None encrypts when the server can; with True nothing goes out otherwise."""

    host: str
    port: int
    is_tls: bool = False
    starttls: bool | None = None
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)


def server_of(url: str) -> SmtpServer:
    """Reads `smtp://user:password@host:port?starttls` or `smtps://...`. Raises ValueError, without the password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("smtp_url cannot be read; write special letters of the password as %XX") from None
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ValueError("smtp_url looks like smtp://user:password@host:587?starttls or smtps://host")
    is_tls = parts.scheme == "smtps"
    wants_starttls = "starttls" in parse_qs(parts.query, keep_blank_values=True)
    return SmtpServer(
        host=parts.hostname,
        port=port or (465 if is_tls else 587 if wants_starttls else 25),
        is_tls=is_tls,
        starttls=False if is_tls else wants_starttls or None,
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
    )


class _Broke(Exception):
    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpSender:
    """`seconds` are for getting as far as the content, and as many again for the answer to it."""

    server: SmtpServer | None
    mail_from: str | None
    seconds: float
    may_repeat: bool = False

    async def send(self, delivery: Delivery, binding: Binding) -> Attempt:
        if self.server is None:
            return Attempt(sent=Sent.NOT_YET, detail="This node has no smtp_url; set it, and mail_from.")
        sender = binding.terms.settings.get("mail_from", self.mail_from)
        try:
            mail = mail_of(delivery, mail_from=str(sender))
        except ValueError:
            return Attempt(sent=Sent.REFUSED, detail="No mail can be written to this address, or from this sender.")
        try:
            return await self._hand_over(self.server, mail)
        except _Broke as broke:
            return broke.attempt

    async def _hand_over(self, server: SmtpServer, mail: EmailMessage) -> Attempt:
        import aiosmtplib

        sender, recipient = mail["From"].addresses[0].addr_spec, mail["To"].addresses[0].addr_spec
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            use_tls=server.is_tls,
            start_tls=server.starttls,
            username=server.user,
            password=server.password,
            local_hostname=sender.rpartition("@")[2],
            timeout=self.seconds,
        )
        try:
            with _telling(Sent.NOT_YET, "before the mail was handed over"):
                async with asyncio.timeout(self.seconds):
                    await _greet(client)
                    await client.mail(sender)
                    await client.rcpt(recipient)
            with _telling(Sent.UNSURE, "after the mail was handed over"):
                async with asyncio.timeout(self.seconds):
                    await client.data(mail.as_bytes())
            # It is taken; how the server says goodbye does not matter.
            with contextlib.suppress(aiosmtplib.SMTPException, OSError, TimeoutError):
                await client.quit(timeout=1)
            return Attempt(sent=Sent.DONE)
        finally:
            client.close()


async def _greet(client: "aiosmtplib.SMTP") -> None:
    """A server that lets us in for no mail at all says nothing about this one."""
    import aiosmtplib

    try:
        await client.connect()
    except aiosmtplib.SMTPResponseException as refused:
        raise _Broke(Attempt(sent=Sent.NOT_YET, detail=f"The mail server turns us away ({refused.code}).")) from None


@contextlib.contextmanager
def _telling(when_broken: Sent, moment: str) -> Iterator[None]:
    """What the server says by a code is certain at every moment; a connection that broke is as sure as its moment."""
    import aiosmtplib

    try:
        yield
    except aiosmtplib.SMTPResponseException as refused:
        sent = Sent.REFUSED if 500 <= refused.code < 600 else Sent.NOT_YET
        raise _Broke(Attempt(sent=sent, detail=f"The mail server refused it ({refused.code}).")) from None
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
        raise _Broke(
            Attempt(sent=when_broken, detail=f"The connection to the mail server broke {moment} ({_kind(error)}).")
        ) from None


def _kind(error: BaseException) -> str:
    return type(error).__name__


def mail_of(delivery: Delivery, *, mail_from: str) -> EmailMessage:
    """The mail, the same in every attempt. Raises ValueError for an address that is none."""
    sender = _address(mail_from)
    thread = delivery.to.thread
    mail = EmailMessage(policy=_POLICY)
    mail["From"] = sender
    mail["To"] = _address(delivery.to.address)
    mail["Subject"] = _subject(thread.get("subject"))
    mail["Date"] = format_datetime(delivery.created_at)
    mail["Message-ID"] = f"<{delivery.id}@{sender.domain}>"
    if answered := _message_id(thread.get("message_id")):
        mail["In-Reply-To"] = answered
        mail["References"] = " ".join(_references(thread, answered))
    mail["Auto-Submitted"] = "auto-replied"
    mail.set_content(delivery.text)
    return mail


def _address(written: str) -> Address:
    if not _ADDRESS.fullmatch(written):
        raise ValueError("this is no address of a mailbox")
    return Address(addr_spec=written)


def _subject(said: Any) -> str:
    plain = " ".join("".join(each if each.isprintable() else " " for each in str(said or "")).split())
    plain = plain[:MOST_SUBJECT_CHARS]
    if not plain:
        return "Re: your message"
    return plain if plain.lower().startswith("re:") else f"Re: {plain}"


def _message_id(written: Any) -> str | None:
    found = _MESSAGE_ID.fullmatch(written.strip()) if isinstance(written, str) else None
    return f"<{found[1]}>" if found else None


def _references(thread: Mapping[str, Any], answered: str) -> list[str]:
    """The oldest and the newest of the thread, and at last what is answered."""
    told = thread.get("references")
    known = [_message_id(each) for each in told] if isinstance(told, list | tuple) else []
    ids = [each for each in dict.fromkeys(known) if each is not None and each != answered]
    if len(ids) > MOST_REFERENCES:
        ids = [ids[0], *ids[1 - MOST_REFERENCES :]]
    return [*ids, answered]
