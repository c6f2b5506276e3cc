"""What a program sends stays as it is, and keeps to a schema where one is declared."""

from pathlib import Path

import pytest

from tests.unit.channels.arriving import NO_TERMS, NOW, codes, posted
from turnkeeper.channels.api import ApiChannel
from turnkeeper.errors import ChannelPayloadInvalid
from turnkeeper.model.event import EventType
from turnkeeper.ports.channels import Said, Terms

API = ApiChannel()
SCHEMA = {
    "type": "object",
    "required": ["berth", "nights"],
    "properties": {"berth": {"type": "integer"}, "nights": {"type": "integer", "minimum": 1}},
}
BOOKING = {"berth": 9, "nights": 2}


def test_a_payload_arrives_with_who_calls_and_what_it_means() -> None:
    raw = posted(
        BOOKING,
        headers={"x-caller-service": "billing", "idempotency-key": "k-1", "content-language": "en"},
        query={"schema_ref": "booking@1"},
    )

    arrival = API.read(raw, NO_TERMS, now=NOW)

    assert (arrival.address, arrival.delivery_id) == ("billing", "k-1")
    assert arrival.said == Said(
        payload=BOOKING, locale="en", signals={"schema_ref": "booking@1", "caller_service": "billing"}
    )


def test_without_a_caller_the_address_is_that_of_the_binding_or_the_channel() -> None:
    assert API.read(posted({}), NO_TERMS, now=NOW).address == "api"
    assert API.read(posted({}), Terms(settings={"address": "crm"}), now=NOW).address == "crm"


def test_every_violation_of_the_schema_of_a_binding_is_named() -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        API.read(posted({"berth": "the secret one", "nights": 0}), Terms(settings={"schema": SCHEMA}), now=NOW)

    assert {fault["pointer"] for fault in refused.value.details} == {"/berth", "/nights"}
    assert "secret" not in str(refused.value.details)


def test_a_payload_that_keeps_to_its_schema_is_told_to_be_checked() -> None:
    terms = Terms(settings={"schema": SCHEMA, "schema_ref": "booking@1"})

    arrival = API.read(posted(BOOKING), terms, now=NOW)

    assert arrival.said is not None
    assert arrival.said.signals == {"schema_ref": "booking@1", "schema_checked": True}
    assert codes(API.normalize(arrival.said)) == set()


def test_a_schema_that_nobody_knows_is_a_warning() -> None:
    arrival = API.read(
        posted({"berth": "x"}, headers={"x-schema-ref": "other@2"}),
        Terms(settings={"schema": SCHEMA, "schema_ref": "booking@1"}),
        now=NOW,
    )

    assert arrival.said is not None
    assert codes(API.normalize(arrival.said)) == {"payload_schema_unknown"}


@pytest.mark.parametrize("schema", [7, {"type": 7}, {"$ref": "http://127.0.0.1:9/x.json"}, {"pattern": "("}])
def test_a_schema_that_is_none_is_the_fault_of_the_binding(schema: object) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        API.read(posted({}), Terms(settings={"schema": schema}), now=NOW)

    assert refused.value.details[0]["pointer"] == "/settings/schema"


def test_a_schema_reads_no_files(tmp_path: Path) -> None:
    elsewhere = tmp_path / "schema.json"
    elsewhere.write_text('{"type": "object"}')

    with pytest.raises(ChannelPayloadInvalid) as refused:
        API.read(posted({}), Terms(settings={"schema": {"$ref": elsewhere.as_uri()}}), now=NOW)

    assert refused.value.details[0]["pointer"] == "/settings/schema"


def test_a_schema_that_the_program_knows_is_checked_on_every_way() -> None:
    api = ApiChannel(schemas={"booking@1": SCHEMA})

    assert codes(api.normalize(Said(payload=BOOKING, signals={"schema_ref": "booking@1"}))) == set()
    with pytest.raises(ChannelPayloadInvalid) as refused:
        api.normalize(Said(payload={"berth": 9}, signals={"schema_ref": "booking@1"}))
    assert refused.value.details[0]["pointer"] == "/payload"


def test_a_bare_message_is_a_request_with_an_empty_payload() -> None:
    event = API.normalize(Said(message="Free berths?"))

    assert (event.type, event.payload, event.text) == (EventType.STRUCTURED_REQUEST, {}, "Free berths?")


@pytest.mark.parametrize("signal", ["schema_ref", "caller_service"])
def test_a_signal_of_the_wrong_shape_is_named(signal: str) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        API.normalize(Said(payload={}, signals={signal: 7}))

    assert refused.value.details[0]["pointer"] == f"/input/context/channel_signals/{signal}"
