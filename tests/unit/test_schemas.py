"""The published schemas are what the code takes and gives."""

import dataclasses
import json
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.channels.registry import ChannelRegistry
from turnkeeper.keeping.invoking import LIMITS
from turnkeeper.model.budget import Resource
from turnkeeper.model.event import Attachment, EventType, Severity
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import RunId, SessionId, TenantId
from turnkeeper.model.mode import Mode
from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.session_state import Origin, SessionState
from turnkeeper.ports.channels import Said
from turnkeeper.schemas import NAMES, schema
from turnkeeper.server.sse import STREAM_BROKEN
from turnkeeper.server.wire import Problem
from turnkeeper.server.wire_frames import FrameOut
from turnkeeper.testing.clock import NOON

PHOTO = Attachment(artifact_id="art_9", media_type="image/jpeg", sha256="2c" * 32, uri="blob://demo/art_9")
SIGNALS: dict[str, dict[str, Any]] = {
    "app_chat": {"typing": {"duration_ms": 10}},
    "email": {"sender": "ann@example.org", "message_id": "<a@example.org>", "references": []},
    "voice": {"asr": {"final": True, "truncated": True, "tokens": [{"text": "hi", "confidence": 0.2}]}},
    "api": {"schema_ref": "orders/1"},
    "webhook": {"delivery_attempt": 2},
    "sms": {"from_e164": "+4915112345678", "carrier": {"name": "one"}},
}


@pytest.mark.parametrize("name", NAMES)
def test_each_schema_is_one_of_draft_2020_12_and_has_a_name_of_its_own(name: str) -> None:
    document = schema(name)

    jsonschema_rs.meta.validate(document)
    assert document["$schema"].endswith("2020-12/schema")
    assert document["$id"] == f"urn:turnkeeper:schema:{name}"


def test_no_other_schema_lies_about() -> None:
    found = {each.name for each in files("turnkeeper.schemas").iterdir() if each.name.endswith(".json")}

    assert found == {f"{name}.json" for name in NAMES}


def test_envelopes_name_what_the_code_knows() -> None:
    properties = schema("envelope")["properties"]

    assert set(properties["runtime"]["properties"]) == LIMITS
    assert properties["mode"]["enum"] == [*Mode]
    attachment = schema("envelope")["$defs"]["attachment"]["properties"]
    assert set(attachment) == {field.name for field in dataclasses.fields(Attachment)}


def test_run_contexts_name_what_the_code_knows() -> None:
    document = schema("run-context")

    assert document["properties"]["safety_mode"]["enum"] == [*SafetyMode]
    assert set(document["$defs"]["resources"]["properties"]) == {*Resource}


def test_frames_and_errors_have_the_fields_that_the_server_sends() -> None:
    frame, error = schema("frame"), schema("error")

    assert frame["properties"]["type"]["enum"] == [*FeedType, STREAM_BROKEN]
    assert set(frame["properties"]) == set(frame["required"]) == set(FrameOut.model_fields)
    assert set(error["properties"]) == set(Problem.model_fields)
    assert set(error["required"]) == {name for name, field in Problem.model_fields.items() if field.is_required()}


def test_events_name_what_the_code_knows() -> None:
    document = schema("event")["properties"]

    assert document["type"]["enum"] == [*EventType]
    assert document["origin"]["enum"] == [*Origin]
    assert document["warnings"]["items"]["properties"]["severity"]["enum"] == [*Severity]


@pytest.mark.parametrize("channel", sorted(SIGNALS))
def test_behaviour_22_events_of_every_channel_have_one_shape(channel: str) -> None:
    event = placed(channel, "hello there", ())

    jsonschema_rs.validate(schema("event"), event)
    assert event["metadata"]["channel"]["name"] == channel


@given(text=st.text(min_size=1).filter(str.strip), many=st.integers(0, 3))
def test_whatever_is_said_the_event_fits_its_schema(text: str, many: int) -> None:
    event = placed("app_chat", text, (PHOTO,) * many)

    jsonschema_rs.validate(schema("event"), json.loads(json.dumps(event)))


@pytest.mark.parametrize("field", schema("event")["required"])
def test_an_event_that_lacks_something_does_not_fit(field: str) -> None:
    event = placed("app_chat", "hello", ())
    del event[field]

    assert not jsonschema_rs.is_valid(schema("event"), event)


def placed(name: str, message: str, attachments: tuple[Attachment, ...]) -> dict[str, Any]:
    channel = ChannelRegistry().get(name)
    assert channel is not None
    payload = {"order": 1} if name in ("api", "webhook") else None
    said = Said(message=message, payload=payload, signals=SIGNALS[name], attachments=attachments)
    state = SessionState(
        session_id=SessionId("sess_1"),
        tenant=TenantId("acme"),
        run_id=RunId("run_1"),
        turn=1,
        mode=Mode.BATCH,
        channel=name,
        locale=None,
        packs=(),
        classification=None,
        history=(),
        live=(channel.normalize(said),),
        received_at=NOON,
        deadline=NOON,
    )
    return state.events[0].document()
