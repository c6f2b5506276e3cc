"""Whatever is sent, the answer is an answer or a problem, and never a crash."""

import json
import math
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.server.conftest import House
from tests.server.process import Api

FIELDS = [
    "message",
    "session_id",
    "agent",
    "stream",
    "reset",
    "params",
    "plugins",
    "model",
    "level",
    "metadata",
    "request_id",
    "double_text",
    "on_missing",
    "answers",
    "custody",
    "carried",
    "freshness",
    "cancel_on_disconnect",
    "extra",
]
WORDS = ["", "Hi", "echo", "gated", "client", "engine", "merge", "new", "error", "\x00", "\ud800", "sess_1", "🍵"]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(WORDS)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
bodies = st.dictionaries(st.sampled_from(FIELDS), values, max_size=6) | values
likely = st.fixed_dictionaries(
    {"message": st.text(min_size=1)},
    optional={"session_id": st.sampled_from(WORDS), "params": values, "metadata": values, "agent": st.just("echo")},
)
quickly = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@quickly
@given(body=bodies | likely)
@example(body={"message": "Hi", "params": {"x": math.nan}})
@example(body={"message": "Hi", "params": {"x": 2**64}})
def test_any_json_is_answered_or_refused(house: House, ben: Api, body: Any) -> None:
    sent = json.dumps(body).encode()

    assert_answered_or_refused(send(ben, sent))


@quickly
@given(body=st.binary(max_size=200) | st.text(alphabet='{}[]",:\\ue0-9.tfn \n', max_size=200).map(str.encode))
def test_any_bytes_are_answered_or_refused(house: House, ben: Api, body: bytes) -> None:
    assert_answered_or_refused(send(ben, body))


@quickly
@given(path=st.text(alphabet=st.characters(codec="utf-8", exclude_characters="/?#"), min_size=1, max_size=40))
def test_any_path_is_answered_or_refused(house: House, ben: Api, path: str) -> None:
    response = ben.get(f"/sessions/{quote(path, safe='')}")

    assert_answered_or_refused(response)


def send(api: Api, body: bytes) -> httpx2.Response:
    return api.client.post("/api/v1/chat", content=body, headers={"Content-Type": "application/json"})


def assert_answered_or_refused(response: httpx2.Response) -> None:
    media_type = response.headers["content-type"].partition(";")[0]
    if response.status_code == 200:
        assert media_type in ("application/json", "text/event-stream")
    else:
        assert 400 <= response.status_code < 500, response.text
        assert media_type == "application/problem+json"
        assert response.json()["code"] != "internal_error"


@pytest.fixture(autouse=True)
def _still_ready(house: House, ben: Api) -> Any:
    yield
    assert ben.client.get("/readyz").status_code == 200
