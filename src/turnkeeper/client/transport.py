"""Asking a server over HTTP: the same thing again where that is safe, and errors as they are beside the engine."""

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx2

from turnkeeper.client.problems import error_of
from turnkeeper.client.retrying import Retries
from turnkeeper.errors import AnswerUnreadable, ServerUnreachable, TurnkeeperError

API = "/api/v1"
CONNECT_SECONDS = 5.0
SILENT_SECONDS = 60.0
"""A server says something on a stream at least every fifteen seconds, unless it was told otherwise."""

REPEATABLE = {"GET", "HEAD", "PUT", "DELETE"}
BUSY_GATEWAY = {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}


def at(*parts: object) -> str:
    """The address of something in the API, whatever is in its id."""
    return f"{API}/" + "/".join(_part(str(part)) for part in parts)


def _part(part: str) -> str:
    return part.replace(".", "%2E") if part in (".", "..") else quote(part, safe="")


def new_key() -> str:
    """What names a request in all of its tries."""
    return f"req_{uuid.uuid4().hex}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request. With a `key`, or where its verb may be done twice, it may be sent again when its answer is lost."""

    method: str
    path: str
    body: Any = None
    content: Any = None
    query: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None
    key: str | None = None
    if_match: int | None = None
    is_repeatable: bool = False

    @property
    def is_safe(self) -> bool:
        is_whole = self.content is None or isinstance(self.content, bytes)
        return is_whole and (self.key is not None or self.is_repeatable or self.method in REPEATABLE)

    def finds_it_gone(self, error: TurnkeeperError) -> bool:
        """Whether an earlier try has removed it. What has a key is answered as it was the first time."""
        return self.method == "DELETE" and self.key is None and error.http_status == HTTPStatus.NOT_FOUND

    @property
    def as_sent(self) -> dict[str, Any]:
        headers = dict(self.headers or {})
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        if self.if_match is not None:
            headers["If-Match"] = f'"{self.if_match}"'
        sent: dict[str, Any] = {"method": self.method, "url": self.path, "headers": headers}
        if self.query:
            sent["params"] = {name: _plain(value) for name, value in self.query.items() if value is not None}
        if self.content is not None:
            sent["content"] = self.content
        elif self.body is not None:
            sent["json"] = self.body
        return sent


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.value if isinstance(value, Enum) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    document: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A try that came to nothing. With `was_lost` nobody knows what was done."""

    error: TurnkeeperError
    may_repeat: bool
    was_lost: bool
    wait: float | None = None
    """For how long the server asks to wait, in seconds."""


class Transport:
    """One server, and who is asking. `http` is a client of one's own making, which stays open."""

    def __init__(
        self, url: str, token: str | None, *, retries: Retries, http: httpx2.AsyncClient | None = None
    ) -> None:
        self.url, self.retries = url.rstrip("/"), retries
        self._token, self._given, self._client = token, http, None if http is None else http

    async def open(self) -> None:
        if self._client is None:
            # An answer may take as long as its run may; a server that is not there is noticed at once.
            timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
            try:
                self._client = httpx2.AsyncClient(
                    base_url=self.url, headers=self._headers, timeout=timeout, limits=limits
                )
            except httpx2.InvalidURL:
                raise ServerUnreachable(self.url, "this is not an address") from None

    async def close(self) -> None:
        if self._client is not None and self._given is None:
            await self._client.aclose()
            self._client = None

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    @property
    def _http(self) -> httpx2.AsyncClient:
        if self._client is None:
            raise RuntimeError("open it first: async with Turnkeeper.open(...) as keeper")
        return self._client

    async def ask(self, method: str, path: str, **about: Any) -> Any:
        """The document that the server answers with, None for what a lost try has removed.

        Raises the TurnkeeperError that it was refused with.
        """
        return (await self.answer(Ask(method=method, path=path, **about))).document

    async def answer(self, ask: Ask) -> Answer:
        async with self.opened(ask) as response:
            if not response.is_stream_consumed:
                await response.aread()
            return Answer(status=response.status_code, document=_document(response))

    @asynccontextmanager
    async def opened(self, ask: Ask, *, silent_seconds: float | None = None) -> AsyncIterator[httpx2.Response]:
        """A response that is good, before its body is read unless it has to be read for it to be known as lost."""
        response = await self._tried(ask, silent_seconds)
        try:
            yield response
        finally:
            await response.aclose()

    async def _tried(self, ask: Ask, silent_seconds: float | None) -> httpx2.Response:
        trying, was_lost = self.retries.begin(), False
        while isinstance(tried := await self._try(ask, silent_seconds), Failed):
            if was_lost and ask.finds_it_gone(tried.error):
                return httpx2.Response(HTTPStatus.NO_CONTENT)
            was_lost = was_lost or tried.was_lost
            if not tried.may_repeat or not await trying.again(tried.wait):
                raise tried.error
        return tried

    async def _try(self, ask: Ask, silent_seconds: float | None) -> "httpx2.Response | Failed":
        is_stream = silent_seconds is not None
        try:
            response = await self._sent(ask, silent_seconds)
            if not response.is_success or not (is_stream or (ask.method == "GET" and _is_content(response))):
                await response.aread()
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            error = ServerUnreachable(self.url, "there is no connection")
            return Failed(error=error, may_repeat=True, was_lost=False)
        except httpx2.TransportError as fault:
            is_late = isinstance(fault, httpx2.TimeoutException)
            why = "it said nothing for too long" if is_late else "the connection was lost"
            return Failed(error=ServerUnreachable(self.url, why), may_repeat=ask.is_safe, was_lost=True)
        return response if response.is_success else self._refused(ask, response)

    async def _sent(self, ask: Ask, silent_seconds: float | None) -> httpx2.Response:
        timeout = httpx2.Timeout(silent_seconds, connect=CONNECT_SECONDS)
        try:
            request = self._http.build_request(**ask.as_sent, timeout=timeout)
            return await self._http.send(request, stream=True)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            raise ServerUnreachable(self.url, "this is not an address") from None

    def _refused(self, ask: Ask, response: httpx2.Response) -> Failed:
        """What a server says of itself; or what something between it and here says."""
        asked, status = response.headers.get("retry-after", ""), response.status_code
        wait = float(asked) if asked.isascii() and asked.isdigit() else None
        try:
            error = error_of(response.json())
        except (ValueError, KeyError, TypeError):
            is_busy = status in BUSY_GATEWAY
            unread = AnswerUnreadable(self.url, status)
            return Failed(error=unread, may_repeat=ask.is_safe and is_busy, was_lost=is_busy, wait=wait)
        # A server that has too much to do has not begun with it.
        may_repeat = error.retryable and (ask.is_safe or status == HTTPStatus.TOO_MANY_REQUESTS)
        wait = wait if error.retry_after_ms is None else error.retry_after_ms / 1000
        return Failed(error=error, may_repeat=may_repeat, was_lost=False, wait=wait)


def _is_content(response: httpx2.Response) -> bool:
    return "attachment" in response.headers.get("content-disposition", "") or "ndjson" in response.headers.get(
        "content-type", ""
    )


def _document(response: httpx2.Response) -> Any:
    if not response.content:
        return None
    is_json = "json" in response.headers.get("content-type", "")
    return response.json() if is_json else response.text
