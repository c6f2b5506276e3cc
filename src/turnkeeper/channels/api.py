"""Requests of another program: a JSON object that stays as it is, checked against a schema if one is declared."""

from collections.abc import Mapping
from typing import Any

from turnkeeper.channels.json_bodies import read_object
from turnkeeper.channels.json_schemas import check_payload
from turnkeeper.channels.normalizing import SIGNALS, signals_of, structured_event, warn
from turnkeeper.channels.plain import plain
from turnkeeper.channels.shapes import Shape
from turnkeeper.channels.signatures import is_vouched
from turnkeeper.model.event import Event, EventType
from turnkeeper.ports.channels import Arrival, KnownTerms, Raw, Said, SettingKind, Terms

MOST_NAME = 255


class ApiChannel:
    """`schemas` are those that every caller may name by `schema_ref`, next to the one of a binding."""

    name = "api"
    known_terms = KnownTerms(
        settings={
            "address": SettingKind.TEXT,
            "schema": SettingKind.SCHEMA,
            "schema_ref": SettingKind.TEXT,
            "tolerance_seconds": SettingKind.COUNT,
        }
    )

    def __init__(self, *, schemas: Mapping[str, Any] | None = None) -> None:
        self._schemas = dict(schemas or {})

    def read(self, raw: Raw, terms: Terms, *, now: float) -> Arrival:
        """The body is the payload. Who calls, and which schema it means, stands in headers or in the query."""
        vouched = is_vouched(raw, terms, now=now)
        payload = read_object(raw.body)
        outside = {
            "schema_ref": raw.headers.get("x-schema-ref") or raw.query.get("schema_ref"),
            "caller_service": raw.headers.get("x-caller-service") or raw.query.get("caller_service"),
            "locale": raw.headers.get("content-language") or raw.query.get("locale"),
            "delivery_id": raw.headers.get("idempotency-key"),
            "address": terms.settings.get("address"),
        }
        named = Shape(plain(outside, "/headers"), "/headers")
        told = {name: named.text(name, most=MOST_NAME) for name in ("schema_ref", "caller_service")}
        locale, delivery_id = named.text("locale", most=64), named.text("delivery_id", most=MOST_NAME)
        address = named.text("address", most=MOST_NAME) or told["caller_service"] or self.name
        named.settle()
        signals: dict[str, Any] = {name: value for name, value in told.items() if value is not None}
        schema_ref = signals.get("schema_ref", terms.settings.get("schema_ref"))
        if "schema" in terms.settings and schema_ref == terms.settings.get("schema_ref"):
            check_payload(payload, terms.settings["schema"])
            signals["schema_checked"] = True
        if schema_ref is not None:
            signals["schema_ref"] = schema_ref
        said = Said(payload=payload, locale=locale, signals=signals)
        return Arrival(address=address, said=said, delivery_id=delivery_id, is_vouched=vouched)

    def normalize(self, said: Said) -> Event:
        signals = signals_of(said)
        shape = Shape(signals, SIGNALS)
        schema_ref = shape.text("schema_ref", most=MOST_NAME)
        shape.text("caller_service", most=MOST_NAME)
        is_checked = shape.flag("schema_checked")
        shape.settle()
        warnings = []
        if schema_ref in self._schemas:
            check_payload(said.payload or {}, self._schemas[schema_ref], pointer="/payload")
        elif schema_ref is not None and not is_checked:
            warnings.append(
                warn("payload_schema_unknown", "It names a schema that is not known here, so it was not checked.")
            )
        return structured_event(self.name, EventType.STRUCTURED_REQUEST, said, signals=signals, warnings=warnings)
