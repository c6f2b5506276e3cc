"""Requests as they arrive at a channel, and what tests ask of an Event."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnkeeper.model.event import Attachment, Event
from turnkeeper.ports.channels import Raw, Terms

DATA = Path(__file__).parent / "data"
NOW = 1_772_440_200.0
NO_TERMS = Terms()
SECRET = "whsec_" + base64.b64encode(b"a secret that only two know").decode()
OTHER_SECRET = "whsec_" + base64.b64encode(b"the secret of last month...").decode()


def posted(body: Any, *, headers: Mapping[str, str] | None = None, query: Mapping[str, str] | None = None) -> Raw:
    return Raw(body=json.dumps(body).encode(), media_type="application/json", headers=headers or {}, query=query or {})


def signed(body: bytes, *, secret: str = SECRET, at: float = NOW, delivery_id: str = "msg_1", **more: str) -> Raw:
    headers = {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(int(at)),
        "webhook-signature": f"v1,{signature(body, secret=secret, at=at, delivery_id=delivery_id)}",
    }
    return Raw(
        body=body,
        media_type="application/json",
        headers=headers | {name.replace("_", "-"): value for name, value in more.items()},
    )


def signature(body: bytes, *, secret: str = SECRET, at: float = NOW, delivery_id: str = "msg_1") -> str:
    """Computed here from the words of the specification, not by what is tested."""
    key = base64.b64decode(secret[len("whsec_") :])
    content = b".".join([delivery_id.encode(), str(int(at)).encode(), body])
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def codes(event: Event) -> set[str]:
    return {warning.code for warning in event.warnings}


def an_attachment(number: int = 1) -> Attachment:
    content = f"photo {number}".encode()
    return Attachment(
        artifact_id=f"art_{number}",
        media_type="image/jpeg",
        sha256=hashlib.sha256(content).hexdigest(),
        uri=f"blob://demo/art_{number}",
    )


def as_json(attachment: Attachment) -> dict[str, str]:
    return {
        "artifact_id": attachment.artifact_id,
        "media_type": attachment.media_type,
        "sha256": attachment.sha256,
        "uri": attachment.uri,
    }
