"""Real servers that replies are sent to, which take, refuse and break off as they are told."""

import asyncio
import contextlib
import email
import email.policy
import json
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

TAKE = "250 taken"
DROP = "drop the connection"
STALL = "say nothing more"


@dataclass
class MailServer:
    """An SMTP server. Its script says how it answers to the recipient and to the content of one mail after the other.

    A mail whose connection is dropped, or that gets no answer, was taken all the same.
    """

    mails: list[EmailMessage] = field(default_factory=list)
    recipients: deque[str] = field(default_factory=deque)
    contents: deque[str] = field(default_factory=deque)
    greeted: int = 0
    url: str = ""
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.greeted += 1
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = self.recipients.popleft() if self.recipients else TAKE
        if answer is DROP:
            _drop(server)
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        answer = self.contents.popleft() if self.contents else TAKE
        if not answer.startswith(("4", "5")):
            content = envelope.content
            assert isinstance(content, bytes)
            read = email.message_from_bytes(content, policy=email.policy.default)
            assert isinstance(read, EmailMessage)
            self.mails.append(read)
        if answer is DROP:
            _drop(server)
        if answer is STALL:
            await self.released.wait()
        return answer


def _drop(server: SMTP) -> None:
    assert isinstance(server.transport, asyncio.Transport)
    server.transport.abort()


@contextlib.asynccontextmanager
async def a_mail_server(**script: Any) -> AsyncIterator[MailServer]:
    postman = MailServer(**script)
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: SMTP(postman, loop=loop, hostname="localhost"), "127.0.0.1", 0)
    postman.url = f"smtp://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield postman
    finally:
        postman.released.set()
        listening.close()
        await listening.wait_closed()


@dataclass
class Posted:
    """One request as it came."""

    headers: dict[str, str]
    body: bytes

    @property
    def said(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.body)
        return read


@dataclass
class WebServer:
    """An HTTP server. Its script says how it answers to one request after the other: with a status, or not at all."""

    script: deque[str] = field(default_factory=deque)
    posted: list[Posted] = field(default_factory=list)
    url: str = ""
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            self.posted.append(Posted(headers, await reader.readexactly(int(headers["content-length"]))))
            answer = self.script.popleft() if self.script else "200"
            if answer is STALL:
                await self.released.wait()
            elif answer is not DROP:
                status, _, more = answer.partition(" ")
                extra = f"{more}\r\n" if more else ""
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n{extra}\r\n".encode())
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def a_web_server(*script: str) -> AsyncIterator[WebServer]:
    postman = WebServer(deque(script))
    listening = await asyncio.start_server(postman.serve, "127.0.0.1", 0)
    postman.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/out"
    try:
        yield postman
    finally:
        postman.released.set()
        listening.close()
        await listening.wait_closed()
