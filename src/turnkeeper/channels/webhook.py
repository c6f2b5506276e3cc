"""Events that another service pushes, signed as Standard Webhooks says; nothing is read before the signature fits."""

import re
from typing import Any

from turnkeeper.channels.json_bodies import read_object
from turnkeeper.channels.normalizing import SIGNALS, info, signals_of, structured_event, warn
from turnkeeper.channels.shapes import Shape
from turnkeeper.channels.signatures import ID, TIMESTAMP, check_signature, is_signed
from turnkeeper.errors import ChannelPayloadInvalid
from turnkeeper.model.event import Event, EventType
from turnkeeper.ports.channels import Arrival, KnownTerms, Raw, Said, SettingKind, Terms

SCHEME = "standard-webhooks/v1"
ATTEMPTS = ("webhook-attempt", "x-delivery-attempt")
_ATTEMPT = re.compile("[1-9][0-9]{0,5}")
_DELIVERY_ID = re.compile("[!-~]{1,255}")


class WebhookChannel:
    name = "webhook"
    known_terms = KnownTerms(
        settings={
            "address": SettingKind.TEXT,
            "unsigned": SettingKind.FLAG,
            "tolerance_seconds": SettingKind.COUNT,
        }
    )

    def read(self, raw: Raw, terms: Terms, *, now: float) -> Arrival:
        """With `unsigned` in its settings a binding also takes requests that carry no signature at all."""
        signals: dict[str, Any] = {}
        vouched = is_signed(raw) or terms.settings.get("unsigned") is not True
        if vouched:
            key_id = check_signature(raw, terms, now=now)
            signals["signature"] = {"scheme": SCHEME, "verified": True, "key_id": str(key_id)}
        payload = read_object(raw.body)
        delivery_id = raw.headers.get(ID)
        if delivery_id is not None and not _DELIVERY_ID.fullmatch(delivery_id):
            raise ChannelPayloadInvalid.at(f"/headers/{ID}", "must be up to 255 visible characters")
        if delivery_id is not None:
            signals["delivery_id"] = delivery_id
        if TIMESTAMP in raw.headers:
            signals["delivery_timestamp"] = raw.headers[TIMESTAMP]
        attempt = _attempt(raw)
        if attempt is not None:
            signals["delivery_attempt"] = attempt
        address = terms.settings.get("address")
        return Arrival(
            address=address if isinstance(address, str) and address else self.name,
            said=Said(payload=payload, signals=signals),
            delivery_id=delivery_id,
            is_vouched=vouched,
        )

    def normalize(self, said: Said) -> Event:
        signals = signals_of(said)
        shape = Shape(signals, SIGNALS)
        signature = shape.object("signature")
        is_verified = None
        if signature is not None:
            signature.text("scheme")
            is_verified = signature.flag("verified")
        attempt = shape.whole("delivery_attempt", least=1)
        shape.settle()
        warnings = []
        if attempt is not None and attempt > 1:
            warnings.append(info("webhook_redelivery", f"This is attempt {attempt} of its delivery."))
        if signature is None:
            warnings.append(warn("signature_absent_allowed", "Nothing proves who has sent this."))
        elif not is_verified:
            warnings.append(warn("signature_not_verified", "It is signed, and nobody has checked the signature."))
        return structured_event(self.name, EventType.EVENT_ENVELOPE, said, signals=signals, warnings=warnings)


def _attempt(raw: Raw) -> int | None:
    for name in ATTEMPTS:
        if (written := raw.headers.get(name)) is None:
            continue
        if not _ATTEMPT.fullmatch(written):
            raise ChannelPayloadInvalid.at(f"/headers/{name}", "must be a whole number from 1 up")
        return int(written)
    return None
