"""A chat model behind any OpenAI-compatible `/chat/completions`, asked over HTTP.

The key goes into one header and nowhere else: no error, log or Explanation holds it, and no redirect is followed.
"""

import asyncio
import email.utils
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from turnkeeper.ports.chat_model import ChatMessage, Completion, ModelFailed, ModelFault
from turnkeeper.ports.clock import Clock

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 1_048_576
LONGEST_PAUSE = 10.0
WORTH_RETRYING = (ModelFault.BUSY, ModelFault.BROKEN, ModelFault.UNREACHABLE)


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class _Attempt(Exception):
    """One request that gave no answer, and how long the server asks us to wait."""

    def __init__(self, fault: ModelFault, detail: str, *, wait_seconds: float | None = None) -> None:
        super().__init__(detail)
        self.fault, self.detail, self.wait_seconds = fault, detail, wait_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpChatModel:
    """`seconds` is how long one request may take; retries fit into the deadline of the run or are not made."""

    url: str = field(repr=False)
    name: str
    clock: Clock
    key: str | None = field(default=None, repr=False)
    seconds: float = 30.0
    retries: int = 2
    pause_seconds: float = 1.0

    async def complete(
        self, messages: Sequence[ChatMessage], *, deadline: datetime, json: bool = False, model: str | None = None
    ) -> Completion:
        body: dict[str, Any] = {
            "model": model or self.name,
            "messages": [{"role": each.role.value, "content": each.content} for each in messages],
        }
        if json:
            body["response_format"] = {"type": "json_object"}
        tried = 0
        while True:
            try:
                return await self._once(body, deadline)
            except _Attempt as failed:
                pause = self._pause_before_retry(failed, tried, deadline)
                if pause is None:
                    raise ModelFailed(failed.fault, failed.detail) from None
            tried += 1
            await asyncio.sleep(pause)

    def _pause_before_retry(self, failed: _Attempt, tried: int, deadline: datetime) -> float | None:
        """None when trying again makes no sense, or would come too late."""
        if failed.fault not in WORTH_RETRYING or tried >= self.retries:
            return None
        pause = failed.wait_seconds
        if pause is None:
            pause = min(LONGEST_PAUSE, self.pause_seconds * 2**tried)
        return pause if pause < self._seconds_left(deadline) else None

    def _seconds_left(self, deadline: datetime) -> float:
        return (deadline - self.clock.now()).total_seconds()

    def _trust(self) -> ssl.SSLContext | bool:
        """Certificates are read once, and not at all where nothing is encrypted: reading them takes a while."""
        return _certificates() if self.url.lower().startswith("https:") else False

    async def _once(self, body: dict[str, Any], deadline: datetime) -> Completion:
        import httpx2

        seconds = min(self.seconds, self._seconds_left(deadline))
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            async with asyncio.timeout(seconds), httpx2.AsyncClient(timeout=None, verify=self._trust()) as client:
                address = f"{self.url.rstrip('/')}/chat/completions"
                async with client.stream(
                    "POST", address, headers=headers, content=msgspec.json.encode(body)
                ) as response:
                    _check_status(response, self.clock.now())
                    answer = _decoded(await _read(response))
        except TimeoutError:
            raise _Attempt(ModelFault.TIMED_OUT, f"The model did not answer within {seconds:.3g} seconds.") from None
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            raise _Attempt(
                ModelFault.REQUEST_REFUSED,
                "model_url is no address that can be asked; give one with http:// or https://.",
            ) from None
        except httpx2.DecodingError:
            raise _Attempt(ModelFault.ANSWER_UNREADABLE, "The answer of the model could not be unpacked.") from None
        except httpx2.TransportError:
            raise _Attempt(ModelFault.UNREACHABLE, "The connection to the model could not be made, or broke.") from None
        return _completion(answer, body["model"])


@cache
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context()


def _check_status(response: "httpx2.Response", now: datetime) -> None:
    status = response.status_code
    if status == 200:
        return
    wait = _retry_after(response.headers.get("Retry-After"), now)
    if status == 429:
        raise _Attempt(ModelFault.BUSY, "The model takes no more requests for now (429).", wait_seconds=wait)
    if status >= 500:
        raise _Attempt(ModelFault.BROKEN, f"The model failed with status {status}.", wait_seconds=wait)
    if status in (401, 403):
        raise _Attempt(ModelFault.NOT_ALLOWED, f"The model refused the key ({status}). Check model_key.")
    raise _Attempt(ModelFault.REQUEST_REFUSED, f"The model refused the request with status {status}.")


def _retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds, or a moment; None for what is neither."""
    if value is None:
        return None
    if value.isascii() and value.strip().isdigit():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (aware - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


async def _read(response: "httpx2.Response") -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MOST_BYTES:
            raise _Attempt(ModelFault.ANSWER_TOO_LARGE, f"The answer of the model is larger than {MOST_BYTES} bytes.")
    return bytes(body)


def _decoded(body: bytes) -> _Answer:
    try:
        return msgspec.json.decode(body, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _Attempt(
            ModelFault.ANSWER_UNREADABLE, "The answer of the model is not JSON of the right shape."
        ) from None


def _completion(answer: _Answer, asked: str) -> Completion:
    if not answer.choices:
        raise _Attempt(ModelFault.ANSWER_UNREADABLE, "The answer of the model holds no choice.")
    choice = answer.choices[0]
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise _Attempt(ModelFault.ANSWER_REFUSED, "The model refused to answer.")
    if choice.finish_reason == "length":
        raise _Attempt(ModelFault.ANSWER_TOO_LARGE, "The answer of the model was cut off at its limit of tokens.")
    if not choice.message.content:
        raise _Attempt(ModelFault.ANSWER_UNREADABLE, "The model answered with nothing.")
    usage = answer.usage or _Usage()
    return Completion(
        text=choice.message.content,
        model=answer.model or asked,
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
    )
