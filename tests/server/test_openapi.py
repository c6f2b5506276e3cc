"""The OpenAPI document tells the truth."""

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.server.conftest import House
from turnkeeper.keeping.envelopes import check_envelope
from turnkeeper.model.feed import FeedType

LAYERS = ("tenants", "projects", "objectives")


@pytest.fixture
def document(house: House) -> dict[str, Any]:
    read: dict[str, Any] = house.api(None).client.get("/openapi.json").json()
    return read


def test_every_route_is_in_it(document: dict[str, Any]) -> None:
    routes = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}

    assert routes == {
        "POST /api/v1/chat",
        "POST /api/v1/invoke",
        "GET /api/v1/audit",
        "GET /api/v1/audit/reasons",
        "GET /api/v1/audit/export",
        "GET /metrics",
        "GET /api/v1/schemas",
        "GET /api/v1/schemas/{name}",
        "POST /api/v1/sessions",
        "GET /api/v1/sessions",
        "GET /api/v1/sessions/{session_id}",
        "PATCH /api/v1/sessions/{session_id}",
        "POST /api/v1/sessions/{session_id}/pause",
        "POST /api/v1/sessions/{session_id}/resume",
        "POST /api/v1/sessions/{session_id}/close",
        "POST /api/v1/sessions/{session_id}/reset",
        "POST /api/v1/sessions/{session_id}/fork",
        "GET /api/v1/sessions/{session_id}/turns/{turn}",
        "GET /api/v1/sessions/{session_id}/messages",
        "GET /api/v1/sessions/{session_id}/runs",
        "GET /api/v1/sessions/{session_id}/feed",
        "GET /api/v1/sessions/{session_id}/units",
        "POST /api/v1/sessions/{session_id}/units",
        "GET /api/v1/sessions/{session_id}/units/{unit_id}",
        "PATCH /api/v1/sessions/{session_id}/units/{unit_id}",
        "DELETE /api/v1/sessions/{session_id}/units/{unit_id}",
        "PUT /api/v1/sessions/{session_id}/mounts/{base_id}",
        "DELETE /api/v1/sessions/{session_id}/mounts/{base_id}",
        "POST /api/v1/kbs",
        "GET /api/v1/kbs",
        "GET /api/v1/kbs/{base_id}",
        "GET /api/v1/kbs/{base_id}/sources",
        "POST /api/v1/kbs/{base_id}/sources",
        "GET /api/v1/kbs/{base_id}/sources/{source_id}",
        "DELETE /api/v1/kbs/{base_id}/sources/{source_id}",
        "GET /api/v1/kbs/{base_id}/units",
        "POST /api/v1/packs",
        "GET /api/v1/packs",
        "GET /api/v1/packs/{ref}",
        "GET /api/v1/packs/{pack_id}/config",
        "PUT /api/v1/packs/{pack_id}/config/{key}",
        "DELETE /api/v1/packs/{pack_id}/config/{key}",
        "POST /api/v1/sessions/{session_id}/repin",
        "GET /api/v1/sessions/{session_id}/intent",
        "GET /api/v1/sessions/{session_id}/explanations",
        "GET /api/v1/sessions/{session_id}/explanations/{run_id}",
        "GET /api/v1/runs/{run_id}",
        "GET /api/v1/runs/{run_id}/feed",
        "GET /api/v1/runs/{run_id}/checkpoints",
        "GET /api/v1/runs/{run_id}/effects",
        "GET /api/v1/runs/{run_id}/explanation",
        "POST /api/v1/runs/{run_id}/cancel",
        "POST /api/v1/runs/{run_id}/answer",
        "GET /api/v1/approvals",
        "GET /api/v1/approvals/{approval_id}",
        "POST /api/v1/approvals/{approval_id}/decide",
        "GET /api/v1/sessions/{session_id}/tools",
        "POST /api/v1/artifacts",
        "GET /api/v1/artifacts",
        "GET /api/v1/artifacts/{artifact_id}",
        "GET /api/v1/artifacts/{artifact_id}/content",
        "HEAD /api/v1/artifacts/{artifact_id}/content",
        "POST /api/v1/manifests",
        "GET /api/v1/manifests/{sha256}",
        "GET /api/v1/manifests/{sha256}/entries",
        "GET /api/v1/manifests/{sha256}/history",
        "GET /api/v1/manifests/{sha256}/diff",
        "POST /api/v1/pointers",
        "GET /api/v1/pointers",
        "GET /api/v1/pointers/by-name/{namespace}/{name}",
        "GET /api/v1/pointers/{pointer_id}",
        "DELETE /api/v1/pointers/{pointer_id}",
        "GET /api/v1/pointers/{pointer_id}/resolve",
        "GET /api/v1/pointers/{pointer_id}/history",
        "POST /api/v1/pointers/{pointer_id}/advance",
        "POST /api/v1/pointers/{pointer_id}/reset",
        "POST /api/v1/sessions/{session_id}/publish",
        "GET /api/v1/sessions/{session_id}/outputs",
        "GET /api/v1/sessions/{session_id}/cost",
        "GET /api/v1/storage",
        "GET /api/v1/sessions/{session_id}/export",
        "DELETE /api/v1/sessions/{session_id}",
        "GET /api/v1/users/{user_id}/export",
        "DELETE /api/v1/users/{user_id}",
        "POST /api/v1/sessions/adopt",
        "POST /api/v1/sessions/{session_id}/release",
        "POST /api/v1/keys",
        "GET /api/v1/keys",
        "GET /api/v1/keys/{key_id}",
        "POST /api/v1/keys/{key_id}/revoke",
        "POST /api/v1/login",
        "DELETE /api/v1/login",
        "GET /api/v1/me",
        "GET /api/v1/seals",
        "POST /api/v1/seals/rotate",
        "POST /api/v1/seals/{seal_id}/retire",
        "GET /api/v1/receipts",
        "GET /api/v1/receipts/{receipt_id}",
        "PUT /api/v1/sessions/current",
        "POST /api/v1/sessions/{session_id}/rebase",
        "PUT /api/v1/sessions/{session_id}/layout",
        "DELETE /api/v1/sessions/{session_id}/layout",
        "GET /api/v1/sessions/{session_id}/events",
        "GET /api/v1/sessions/{session_id}/resume-view",
        *(f"{verb} /api/v1/{name}" for verb in ("GET", "POST") for name in LAYERS),
        *(f"{verb} /api/v1/{name}/{{layer_id}}" for verb in ("GET", "PATCH") for name in LAYERS),
        *(f"{verb} /api/v1/users" for verb in ("GET", "POST")),
        *(f"{verb} /api/v1/users/{{user_id}}" for verb in ("GET", "PATCH")),
        "GET /api/v1/agents",
        *(f"{verb} /api/v1/agents/{{agent_id}}" for verb in ("GET", "PUT", "DELETE")),
        "GET /api/v1/models",
        *(f"{verb} /api/v1/models/{{model_id}}" for verb in ("GET", "PUT", "DELETE")),
        "GET /api/v1/channels",
        "POST /api/v1/channels/{channel}/{binding}",
        "POST /api/v1/bindings",
        "GET /api/v1/bindings",
        "GET /api/v1/bindings/{binding_id}",
        "PATCH /api/v1/bindings/{binding_id}",
        "DELETE /api/v1/bindings/{binding_id}",
        "PUT /api/v1/bindings/{binding_id}/contacts",
        "GET /api/v1/bindings/{binding_id}/contacts",
        "DELETE /api/v1/bindings/{binding_id}/contacts",
        "GET /api/v1/deliveries",
        "POST /api/v1/deliveries/{delivery_id}/retry",
        *(f"GET /api/v1/{what}" for what in ("runs", "nodes", "traffic", "usage", "limits")),
        "GET /docs",
        "GET /docs/{file}",
        "GET /console/{path}",
        "GET /healthz",
        "GET /readyz",
        "GET /",
    }
    assert document["openapi"].startswith("3.1")


def test_every_route_of_the_api_tells_its_problems(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            errors = {status: told for status, told in operation["responses"].items() if status >= "400"}
            if path.startswith("/api/"):
                assert {"400", "401", "422", "500", "503"} <= errors.keys(), path
                assert operation["security"] == [] or operation["security"][0] == {"HTTPBearer": []}, path
            for told in errors.values():
                assert list(told["content"]) == ["application/problem+json"], path
                assert told["content"]["application/problem+json"]["schema"]["$ref"].endswith("/Problem")


def test_every_reference_in_it_leads_somewhere(document: dict[str, Any]) -> None:
    for reference in references_in(document):
        found: Any = document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


def test_the_body_of_a_chat_is_described(document: dict[str, Any]) -> None:
    body = document["paths"]["/api/v1/chat"]["post"]["requestBody"]
    shape = document["components"]["schemas"]["ChatIn"]

    assert body["required"] is True
    assert body["content"]["application/json"]["schema"]["$ref"].endswith("/ChatIn")
    assert shape["required"] == ["message"]
    assert shape["additionalProperties"] is False
    assert {"session_id", "stream", "params", "request_id", "answers", "custody"} <= shape["properties"].keys()


def test_a_door_may_be_open_without_a_token(document: dict[str, Any]) -> None:
    operations = [(path, each) for path, known in document["paths"].items() for each in known.values()]

    assert [path for path, each in operations if {} in each.get("security", [])] == [
        "/api/v1/channels/{channel}/{binding}",
        "/metrics",
    ]


@pytest.mark.parametrize(
    ("path", "media_type"), [("/api/v1/audit/export", "application/x-ndjson"), ("/metrics", "text/plain")]
)
def test_what_is_no_json_is_described_as_what_it_is(document: dict[str, Any], path: str, media_type: str) -> None:
    assert media_type in document["paths"][path]["get"]["responses"]["200"]["content"]


def test_the_example_of_an_envelope_is_one(document: dict[str, Any]) -> None:
    body = document["paths"]["/api/v1/invoke"]["post"]["requestBody"]["content"]["application/json"]

    check_envelope(body["example"], most_chars=1000)


def test_the_house_answers_without_a_token(house: House) -> None:
    stranger = house.api(None).client

    assert stranger.get("/healthz").json()["status"] == "alive"
    assert stranger.get("/readyz").json()["status"] == "ready"
    assert stranger.get("/").headers["location"] == "console/"


def test_the_page_of_the_api_asks_nothing_of_a_third_party(house: House) -> None:
    stranger = house.api(None).client
    page = stranger.get("/docs")
    parts = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page.text)

    assert "script-src 'self'; style-src 'self'" in page.headers["content-security-policy"]
    assert "<script>" not in page.text
    assert "style=" not in page.text
    assert parts
    assert all(stranger.get(f"/{part}").status_code == 200 for part in parts)
    assert "validatorUrl: null" in stranger.get("/docs/docs.js").text
    assert stranger.get("/docs/core.py").status_code == 422
    assert stranger.get("/redoc").status_code == 404


def operations_of(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method.upper()} {path}", operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]


def test_every_operation_and_parameter_is_described(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, operation in operations_of(document)]
    groups = [group["name"] for group in document["tags"]]

    assert len(ids) == len(set(ids))
    for where, operation in operations_of(document):
        assert operation["summary"], where
        assert operation.get("description"), where
        assert set(operation["tags"]) <= set(groups), where
        for parameter in operation.get("parameters", []):
            assert parameter.get("description"), (where, parameter["name"])


def test_every_field_of_every_body_says_what_it_means(document: dict[str, Any]) -> None:
    bodies = {name: part for name, part in document["components"]["schemas"].items() if name.endswith("In")}
    mute = [
        f"{title}.{name}"
        for title, body in bodies.items()
        for name, part in body.get("properties", {}).items()
        if not part.get("description")
    ]

    assert len(bodies) > 40
    assert mute == []


def test_problems_speak_in_their_own_words(document: dict[str, Any]) -> None:
    told = {code: example["value"]["detail"] for code, example in document["components"]["examples"].items()}

    assert told["session_not_found"].startswith("There is no session 'sess_")
    assert len({detail for detail in told.values() if "The detail says which one it is" not in detail}) > 60


def test_every_json_body_and_answer_has_an_example_that_fits(document: dict[str, Any]) -> None:
    checked = 0
    for where, operation in operations_of(document):
        answers = [answer for status, answer in operation["responses"].items() if status < "300"]
        for part in (operation.get("requestBody", {}), *answers):
            media = part.get("content", {}).get("application/json")
            if media and media["schema"]:
                fits(document, media["schema"], media["example"], where)
                checked += 1

    assert checked > 150


def test_every_problem_of_every_route_has_an_example(document: dict[str, Any]) -> None:
    named = {
        name
        for _, operation in operations_of(document)
        for status, answer in operation["responses"].items()
        if status >= "400"
        for name in answer["content"]["application/problem+json"]["examples"]
    }

    for name in named:
        example = document["components"]["examples"][name]["value"]
        fits(document, {"$ref": "#/components/schemas/Problem"}, example, name)
        assert example["code"] == name


def test_variants_are_told_apart_by_a_discriminator(document: dict[str, Any]) -> None:
    shapes = document["components"]["schemas"]

    assert shapes["Frame"]["discriminator"]["propertyName"] == "type"
    assert set(shapes["Frame"]["discriminator"]["mapping"]) == {*FeedType, "stream.broken"}
    for body, field, by in (("MountsIn", "pin", "kind"), ("MountsIn", "unpin", "kind")):
        assert shapes[body]["properties"][field]["items"]["discriminator"]["propertyName"] == by
    assert shapes["BindingIn"]["properties"]["reply"]["anyOf"][0]["discriminator"]["propertyName"] == "kind"


def fits(document: dict[str, Any], schema: dict[str, Any], example: Any, where: str) -> None:
    whole = {**schema, "components": document["components"]}
    faults = list(jsonschema_rs.Draft202012Validator(whole, validate_formats=True).iter_errors(example))
    assert not faults, (where, faults[0].message, list(faults[0].instance_path))


def references_in(part: Any) -> list[str]:
    if isinstance(part, dict):
        own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
        return own + [found for value in part.values() for found in references_in(value)]
    if isinstance(part, list):
        return [found for value in part for found in references_in(value)]
    return []


def test_the_manual_lists_every_route(document: dict[str, Any]) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/http.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]

    missing = [
        f"{method.upper()} {path}"
        for path, operations in document["paths"].items()
        for method in operations
        if not any(_tells_of(row, method.upper(), path) for row in rows)
    ]

    assert missing == []


def _tells_of(row: str, method: str, path: str) -> bool:
    named = re.sub(r"{\w+}", r"{\\w+}", path.removeprefix("/api/v1"))
    return method in row and re.search(rf"{named}(?![\w/{{-])", row) is not None
