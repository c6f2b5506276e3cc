"""Bad input and faults: each is a problem with a stable code, and writes nothing but one entry of the audit."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.server.conftest import House
from tests.server.process import Api, audit_of, everything_in

JSON = {"Content-Type": "application/json"}
DEEP = b"[" * 500_000 + b"]" * 500_000

BODIES: dict[str, tuple[bytes, int, str]] = {
    "wrong type": (b'{"message": 5}', 422, "envelope_invalid"),
    "missing field": (b"{}", 422, "envelope_invalid"),
    "unknown field": (b'{"message": "Hi", "mesage": "Hi"}', 422, "envelope_invalid"),
    "empty message": (b'{"message": ""}', 422, "envelope_invalid"),
    "blank message": (b'{"message": " \\n\\t "}', 422, "envelope_invalid"),
    "message too long": (json.dumps({"message": "x" * 32_001}).encode(), 422, "envelope_invalid"),
    "NUL in a message": (b'{"message": "a\\u0000b"}', 422, "envelope_invalid"),
    "half a surrogate pair": (b'{"message": "\\ud800"}', 422, "envelope_invalid"),
    "half a surrogate pair in a name": (b'{"message": "Hi", "\\ud800": 1}', 422, "envelope_invalid"),
    "half a surrogate pair in params": (b'{"message": "Hi", "params": {"a": "\\udfff"}}', 422, "envelope_invalid"),
    "truth as a number": (b'{"message": "Hi", "stream": 1}', 422, "envelope_invalid"),
    "an id that is none": (b'{"message": "Hi", "session_id": "../etc"}', 422, "envelope_invalid"),
    "an unknown double_text": (b'{"message": "Hi", "double_text": "shout"}', 422, "envelope_invalid"),
    "carried without custody": (b'{"message": "Hi", "carried": "AAAA"}', 422, "envelope_invalid"),
    "carried that is not sealed": (
        b'{"message": "Hi", "custody": "client", "session_id": "mine", "carried": {"version": 1}}',
        422,
        "envelope_invalid",
    ),
    "carried that was made up": (
        b'{"message": "Hi", "custody": "client", "session_id": "mine", "carried": "AAAA"}',
        422,
        "carried_invalid",
    ),
    "the custody of the bus": (b'{"message": "Hi", "custody": "device"}', 422, "envelope_invalid"),
    "params too large": (
        json.dumps({"message": "Hi", "params": {"a": "x" * 20_000}}).encode(),
        422,
        "envelope_invalid",
    ),
    "an unknown agent": (b'{"message": "Hi", "agent": "nobody"}', 422, "agent_not_found"),
    "a list": (b"[1]", 422, "envelope_invalid"),
    "null": (b"null", 422, "envelope_invalid"),
    "an empty body": (b"", 400, "malformed_json"),
    "a body of blanks": (b"  \n", 400, "malformed_json"),
    "broken JSON": (b'{"message": "Hi"', 400, "malformed_json"),
    "words behind JSON": (b'{"message": "Hi"} and more', 400, "malformed_json"),
    "NaN": (b'{"message": "Hi", "params": {"x": NaN}}', 400, "malformed_json"),
    "Infinity": (b'{"message": "Hi", "params": {"x": -Infinity}}', 400, "malformed_json"),
    "a number beyond all bounds": (b'{"message": "Hi", "params": {"x": 1e999}}', 400, "malformed_json"),
    "an integer beyond 64 bits": (b'{"message": "Hi", "params": {"x": 9223372036854775808}}', 400, "malformed_json"),
    "an endless integer": (b'{"message": "Hi", "params": {"x": ' + b"9" * 100_000 + b"}}", 400, "malformed_json"),
    "the same key twice": (b'{"message": "Hi", "message": "Ho"}', 400, "malformed_json"),
    "the same key twice inside": (b'{"message": "Hi", "params": {"a": 1, "a": 2}}', 400, "malformed_json"),
    "deep JSON": (b'{"message": "Hi", "params": {"x": ' + b"[" * 64 + b"]" * 64 + b"}}", 400, "malformed_json"),
    "bottomless JSON": (DEEP, 400, "malformed_json"),
    "bottomless JSON without an end": (b'{"a":' * 150_000, 400, "malformed_json"),
    "invalid UTF-8": (b'{"message": "\xff"}', 400, "malformed_json"),
    "UTF-16": ('{"message": "Hi"}'.encode("utf-16"), 400, "malformed_json"),
    "a byte order mark": (b'\xef\xbb\xbf{"message": "Hi"}', 400, "malformed_json"),
    "a raw control character": (b'{"message": "a\nb"}', 400, "malformed_json"),
    "an oversized body": (b'{"message": "' + b"x" * 1_048_576 + b'"}', 413, "body_too_large"),
}


@pytest.mark.parametrize("case", BODIES)
def test_a_bad_body_is_refused_and_leaves_nothing_but_audit(house: House, ben: Api, case: str) -> None:
    body, status, code = BODIES[case]
    before, told = everything_in(house.database), len(audit_of(house.database))

    refused = ben.client.post("/api/v1/chat", content=body, headers=JSON)

    assert_problem(refused, status, code)
    assert everything_in(house.database) == before
    added = audit_of(house.database)[told:]
    assert [(entry["tenant"], entry["verb"], entry["outcome"]) for entry in added] == [("acme", "chat", code)]


def test_a_body_without_a_length_is_counted_as_it_comes(house: House, ben: Api) -> None:
    before = everything_in(house.database)

    def endless() -> Iterator[bytes]:
        yield b'{"message": "'
        for _ in range(40):
            yield b"x" * 65_536

    refused = ben.client.post("/api/v1/chat", content=endless(), headers=JSON)

    assert_problem(refused, 413, "body_too_large")
    assert refused.json()["limit_bytes"] == 1_048_576
    assert everything_in(house.database) == before


def test_all_faults_are_told_at_once_with_pointers(ben: Api) -> None:
    body = {"message": "", "session_id": 5, "params": [], "on_missing": "perhaps", "a/b~c": 1}

    refused = ben.post("/chat", body)

    assert_problem(refused, 422, "envelope_invalid")
    pointers = {detail["pointer"] for detail in refused.json()["details"]}
    assert pointers == {"/message", "/session_id", "/params", "/on_missing", "/a~1b~0c"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": ""},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_a_body_that_is_not_said_to_be_json_is_refused(ben: Api, headers: dict[str, str]) -> None:
    refused = ben.client.post("/api/v1/chat", content=b'{"message": "Hi"}', headers=headers)

    assert_problem(refused, 415, "media_type_not_supported")


@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/ld+json"])
def test_json_has_several_names(ben: Api, media_type: str) -> None:
    answered = ben.client.post("/api/v1/chat", content=b'{"message": "Hi"}', headers={"Content-Type": media_type})

    assert answered.status_code == 200


def test_deep_but_not_too_deep_json_is_taken(ben: Api) -> None:
    body = b'{"message": "Hi", "params": {"x": ' + b"[" * 62 + b"]" * 62 + b"}}"

    assert ben.client.post("/api/v1/chat", content=body, headers=JSON).status_code == 200


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        (None, "unauthenticated"),
        ("", "unauthenticated"),
        ("Basic dG9rZW4tb2YtYWRh", "unauthenticated"),
        ("Bearer", "unauthenticated"),
        ("Bearer token-of-nobody", "unauthenticated"),
        ("Bearer token-of-old", "token_expired"),
    ],
)
def test_a_stranger_is_refused_before_anything_is_read(house: House, authorization: str | None, code: str) -> None:
    before, told = everything_in(house.database), len(audit_of(house.database))
    headers = {} if authorization is None else {"Authorization": authorization}

    refused = house.api(None).client.post("/api/v1/chat", content=b"{not even JSON", headers={**JSON, **headers})

    assert_problem(refused, 401, code)
    assert refused.headers["www-authenticate"] == 'Bearer realm="turnkeeper"'
    assert everything_in(house.database) == before
    assert [(entry["tenant"], entry["outcome"]) for entry in audit_of(house.database)[told:]] == [("-", code)]


def test_every_route_of_the_api_wants_a_token(house: House) -> None:
    stranger = house.api(None)
    document = stranger.client.get("/openapi.json").json()

    asked = [
        (method, path.replace("{session_id}", "sess_1").replace("{run_id}", "run_1"))
        for path, methods in document["paths"].items()
        for method in methods
        if path.startswith("/api/")
        and method != "head"  # which has no body to tell it in
        and (method, path) != ("post", "/api/v1/login")  # where a token is shown
    ]

    assert len(asked) > 10
    for method, path in asked:
        assert_problem(stranger.client.request(method, path), 401, "unauthenticated")


def test_an_unknown_route_and_a_wrong_method_are_problems_too(ben: Api) -> None:
    assert_problem(ben.client.get("/nowhere"), 404, "route_not_found")
    assert_problem(ben.get("/nowhere"), 404, "route_not_found")
    assert_problem(ben.get("/sessions/"), 404, "route_not_found")
    wrong = ben.get("/chat")
    assert_problem(wrong, 405, "method_not_allowed")
    assert wrong.headers["allow"] == "POST"


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=many", "cursor=%00", "cursor=" + "x" * 200])
def test_a_bad_query_is_a_problem(ben: Api, query: str) -> None:
    refused = ben.get(f"/sessions?{query}")

    assert_problem(refused, 422, "envelope_invalid")
    assert refused.json()["details"][0]["parameter"] == query.partition("=")[0]


@pytest.mark.parametrize("cursor", ["-1", "x", str(2**70), "1.5", "%F0%9F%8D%B5"])
def test_a_bad_cursor_is_a_problem(ben: Api, cursor: str) -> None:
    session_id = ben.post("/sessions").json()["id"]

    assert_problem(ben.get(f"/sessions/{session_id}/messages?cursor={cursor}"), 422, "envelope_invalid")


@pytest.mark.parametrize("cursor", ["-1", "a%20b", "%F0%9F%8D%B5"])
def test_a_cursor_that_is_no_id_is_a_problem(ben: Api, cursor: str) -> None:
    session_id = ben.post("/sessions").json()["id"]

    assert_problem(ben.get(f"/sessions/{session_id}/runs?cursor={cursor}"), 422, "envelope_invalid")


@pytest.mark.parametrize("if_match", ['"x"', "", '"1', str(2**70), '"1", "2"'])
def test_an_etag_that_is_none_is_a_problem(ben: Api, if_match: str) -> None:
    session_id = ben.post("/sessions").json()["id"]

    refused = ben.post(f"/sessions/{session_id}/close", headers={"If-Match": if_match})

    assert refused.status_code in (412, 422, 200) if if_match == '"1' else refused.status_code == 422, refused.text


@pytest.mark.parametrize("session_id", ["%00", "..", "x" * 5000, "%F0%9F%8D%B5", "%ED%A0%80", "'%20OR%201=1"])
def test_a_session_id_that_is_none_is_not_found(ben: Api, session_id: str) -> None:
    assert ben.get(f"/sessions/{session_id}/messages").json()["code"] in ("session_not_found", "route_not_found")


def test_a_session_with_an_unknown_agent_is_not_begun(house: House, ben: Api) -> None:
    before = everything_in(house.database)

    refused = ben.post("/sessions", {"agent": "nobody"})

    assert_problem(refused, 422, "agent_not_found")
    assert everything_in(house.database) == before


@pytest.mark.parametrize("title", ["", "x" * 201, "a\x00b", 5])
def test_a_bad_title_is_refused(house: House, ben: Api, title: Any) -> None:
    before = everything_in(house.database)

    assert_problem(ben.post("/sessions", {"title": title}), 422, "envelope_invalid")
    assert everything_in(house.database) == before


def test_what_is_refused_about_sessions_and_runs_is_audited_once(house: House, ben: Api) -> None:
    closed = ben.post("/sessions").json()["id"]
    ben.post(f"/sessions/{closed}/close")
    told = len(audit_of(house.database))

    ben.get("/sessions/sess_nobody")
    ben.post(f"/sessions/{closed}/pause")
    ben.post(f"/sessions/{closed}/reset")
    ben.post("/chat", {"message": "Hi", "session_id": closed})
    ben.post("/runs/run_nobody/cancel")

    assert [(entry["verb"], entry["outcome"]) for entry in audit_of(house.database)[told:]] == [
        ("read_session", "session_not_found"),
        ("pause", "invalid_transition"),
        ("reset", "session_closed"),
        ("chat", "session_closed"),
        ("cancel", "run_not_found"),
    ]


def test_a_failed_run_is_accepted_in_the_audit_and_not_refused(house: House, ben: Api) -> None:
    told = len(audit_of(house.database))

    ben.post("/chat", {"message": "boo", "agent": "failing"})

    assert [entry["outcome"] for entry in audit_of(house.database)[told:]] == ["accepted"]


def assert_problem(response: httpx2.Response, status: int, code: str) -> None:
    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code), response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status
    assert problem["type"] == f"urn:turnkeeper:problem:{code}"
    assert {"title", "detail", "retryable", "request_id", "trace_id"} <= problem.keys()
    assert problem["request_id"] == response.headers["x-request-id"]
    assert problem["trace_id"] == response.headers["x-trace-id"]
