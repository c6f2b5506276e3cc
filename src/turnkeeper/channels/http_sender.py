"""Replies over HTTP, for the gateways of short messages, voice and webhooks, signed as Standard Webhooks says.

The Idempotency-Key is the id of the delivery: whoever receives it twice knows it by that. No redirect is followed, and
nothing but the configured address is asked.
"""

import asyncio
import base64
import json
import ssl
from dataclasses import dataclass
from functools import cache
from typing import Any

from turnkeeper.channels.signatures import ID, SIGNATURE, TIMESTAMP, signature_of
from turnkeeper.errors import WebhookSignatureInvalid
from turnkeeper.model.binding import Binding
from turnkeeper.model.outbound import Delivery
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.sender import Attempt, Sent

COME_AGAIN = (408, 425, 429, 503)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSender:
    clock: Clock
    seconds: float
    may_repeat: bool = True

    async def send(self, delivery: Delivery, binding: Binding) -> Attempt:
        import httpx2

        url = binding.terms.reply.url or ""
        body = json.dumps(body_of(delivery), ensure_ascii=False).encode()
        try:
            headers = self._headers(delivery, binding, body)
        except WebhookSignatureInvalid:
            return Attempt(sent=Sent.REFUSED, detail="The secret for replies cannot be used; set another one.")
        try:
            async with (
                asyncio.timeout(self.seconds),
                httpx2.AsyncClient(
                    follow_redirects=False, trust_env=False, timeout=self.seconds, verify=_trust(url)
                ) as client,
                client.stream("POST", url, content=body, headers=headers) as answer,
            ):
                return _attempt(answer.status_code, answer.headers.get("retry-after"))
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            return Attempt(sent=Sent.REFUSED, detail="The url for replies cannot be used; set another one.")
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            return Attempt(sent=Sent.NOT_YET, detail=f"The receiver cannot be reached ({type(error).__name__}).")
        except (httpx2.HTTPError, TimeoutError) as error:
            return Attempt(sent=Sent.UNSURE, detail=f"The receiver did not answer ({type(error).__name__}).")

    def _headers(self, delivery: Delivery, binding: Binding, body: bytes) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Idempotency-Key": delivery.id}
        if secret := binding.terms.reply.secret:
            written_at = str(int(self.clock.now().timestamp()))
            signature = signature_of(secret, f"{delivery.id}.{written_at}.".encode() + body)
            headers |= {ID: delivery.id, TIMESTAMP: written_at, SIGNATURE: f"v1,{base64.b64encode(signature).decode()}"}
        return headers


def body_of(delivery: Delivery) -> dict[str, Any]:
    return {
        "delivery_id": delivery.id,
        "session_id": delivery.session_id,
        "run_id": delivery.run_id,
        "channel": delivery.to.channel,
        "to": delivery.to.address,
        "thread": dict(delivery.to.thread),
        "text": delivery.text,
    }


def _attempt(status: int, retry_after: str | None) -> Attempt:
    if 200 <= status < 300:
        return Attempt(sent=Sent.DONE)
    detail = f"The receiver answered with {status}."
    if status in COME_AGAIN:
        wait = float(retry_after) if retry_after is not None and retry_after.isdecimal() else None
        return Attempt(sent=Sent.NOT_YET, detail=detail, wait_seconds=wait)
    # It may have taken it before it broke.
    return Attempt(sent=Sent.UNSURE if status >= 500 else Sent.REFUSED, detail=detail)


def _trust(url: str) -> ssl.SSLContext | bool:
    """Certificates are read once, and not at all where nothing is encrypted."""
    return _certificates() if url.lower().startswith("https:") else False


@cache
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context()
