"""Whether a request is signed as Standard Webhooks says, with a secret that the binding knows."""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Sequence

from turnkeeper.channels.normalizing import setting
from turnkeeper.errors import WebhookSignatureInvalid
from turnkeeper.ports.channels import Raw, Terms

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
TOLERANCE_SECONDS = 300
MOST_SIGNATURES = 20
DOES_NOT_FIT = "no signature of it fits"
"""What strangers are told, whatever is wrong with the secrets of a binding."""

_SECONDS = re.compile("[0-9]{1,12}")
_DELIVERY_ID = re.compile("[!-~]{1,255}")


def is_signed(raw: Raw) -> bool:
    """Whether it says so; that the signature fits is another question."""
    return SIGNATURE in raw.headers


def is_vouched(raw: Raw, terms: Terms, *, now: float) -> bool:
    """Whether a secret of the binding has signed it. Raises WebhookSignatureInvalid for a signature that is wrong.

    For channels on which a signature is welcome and not required.
    """
    if not terms.secrets or not is_signed(raw):
        return False
    check_signature(raw, terms, now=now)
    return True


def check_signature(raw: Raw, terms: Terms, *, now: float) -> int:
    """Which of the secrets has signed it, counted from 0. Raises WebhookSignatureInvalid."""
    if not terms.secrets:
        raise WebhookSignatureInvalid(DOES_NOT_FIT)
    delivery_id, written_at, signatures = (raw.headers.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE))
    if not (delivery_id and written_at and signatures):
        raise WebhookSignatureInvalid(f"it needs the headers {ID}, {TIMESTAMP} and {SIGNATURE}")
    # A dot inside the id would let one signature stand for another split of id and timestamp.
    if not _DELIVERY_ID.fullmatch(delivery_id) or "." in delivery_id:
        raise WebhookSignatureInvalid(f"{ID} must be up to 255 visible characters without a dot")
    if not _SECONDS.fullmatch(written_at):
        raise WebhookSignatureInvalid(f"{TIMESTAMP} must be in whole seconds since 1970")
    tolerance = setting(terms.settings, "tolerance_seconds", TOLERANCE_SECONDS)
    if abs(now - int(written_at)) > tolerance:
        raise WebhookSignatureInvalid(f"{TIMESTAMP} is more than {tolerance} seconds away from the clock here")
    content = f"{delivery_id}.{written_at}.".encode("ascii") + raw.body
    return _signer(content, _signatures(signatures), terms.secrets)


def signature_of(secret: str, content: bytes) -> bytes:
    """Raises WebhookSignatureInvalid for a secret that is none; nothing of it is told."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise WebhookSignatureInvalid(DOES_NOT_FIT)
    return hmac.digest(key, content, hashlib.sha256)


def _signatures(header: str) -> Sequence[bytes]:
    listed = header.split(" ")[:MOST_SIGNATURES]
    read = []
    for version, _, encoded in (each.partition(",") for each in listed):
        if version != "v1":
            continue
        try:
            read.append(base64.b64decode(encoded, validate=True))
        except (binascii.Error, ValueError):
            continue
    if not read:
        raise WebhookSignatureInvalid("it has no signature of version v1, which is HMAC-SHA256; v1a is not read")
    return read


def _signer(content: bytes, signatures: Sequence[bytes], secrets: Sequence[str]) -> int:
    found = -1
    for number, secret in enumerate(secrets):
        expected = signature_of(secret, content)
        # Every pair is compared, in constant time: how long it takes tells nothing of a secret.
        matches = [hmac.compare_digest(expected, each) for each in signatures]
        if any(matches) and found < 0:
            found = number
    if found < 0:
        raise WebhookSignatureInvalid(DOES_NOT_FIT)
    return found
