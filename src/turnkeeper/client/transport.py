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
        """The document that the server answers with. Raises the TurnkeeperError that it was refused with."""
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
        is_stream = silent_seconds is not None
        while True:
            wait: float | None = None
            try:
                response = await self._sent(ask, silent_seconds)
                if response.is_success and (is_stream or (ask.method == "GET" and _is_content(response))):
                    return response
                await response.aread()
            except httpx2.TransportError as fault:
                failure: TurnkeeperError = ServerUnreachable(self.url, _why(fault))
                may_try = ask.is_safe or isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout)
                was_lost = True
            else:
                if response.is_success:
                    return response
                failure, wait = self._failure(response)
                if was_lost and ask.method == "DELETE" and response.status_code == HTTPStatus.NOT_FOUND:
                    # The try whose answer was lost has done it.
                    return httpx2.Response(HTTPStatus.NO_CONTENT)
                may_try = _may_try(failure, ask, response.status_code)
            if not may_try or not await trying.again(wait):
                raise failure

    async def _sent(self, ask: Ask, silent_seconds: float | None) -> httpx2.Response:
        timeout = httpx2.Timeout(silent_seconds, connect=CONNECT_SECONDS)
        try:
            request = self._http.build_request(**ask.as_sent, timeout=timeout)
            return await self._http.send(request, stream=True)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            raise ServerUnreachable(self.url, "this is not an address") from None

    def _failure(self, response: httpx2.Response) -> tuple[TurnkeeperError, float | None]:
        """What was refused, and for how long the server asks to wait."""
        asked = response.headers.get("retry-after", "")
        wait = float(asked) if asked.isascii() and asked.isdigit() else None
        try:
            error = error_of(response.json())
        except (ValueError, KeyError, TypeError):
            return AnswerUnreadable(self.url, response.status_code), wait
        return error, wait if error.retry_after_ms is None else error.retry_after_ms / 1000


def _may_try(failure: TurnkeeperError, ask: Ask, status: int) -> bool:
    """What a server says of itself may be sent again; what something between says only where that is safe anyway."""
    if isinstance(failure, AnswerUnreadable):
        return ask.is_safe and status in BUSY_GATEWAY
    # A server that has too much to do has not begun with it.
    return failure.retryable and (ask.is_safe or status == HTTPStatus.TOO_MANY_REQUESTS)


def _is_content(response: httpx2.Response) -> bool:
    return "attachment" in response.headers.get("content-disposition", "") or "ndjson" in response.headers.get(
        "content-type", ""
    )


def _document(response: httpx2.Response) -> Any:
    if not response.content:
        return None
    is_json = "json" in response.headers.get("content-type", "")
    return response.json() if is_json else response.text


def _why(fault: httpx2.TransportError) -> str:
    if isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout):
        return "there is no connection"
    if isinstance(fault, httpx2.TimeoutException):
        return "it said nothing for too long"
    return "the connection was lost"
