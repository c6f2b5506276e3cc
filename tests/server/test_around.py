"""What surrounds every answer: compression, other origins, headers, and who may read the numbers."""

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from turnkeeper import Principal, Role, Settings, TenantId, Turnkeeper, UserId
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import Identity, StaticIdentities, hash_of
from turnkeeper.settings import SettingsInvalid

ACME = TenantId("acme")
PEOPLE = {
    "ada": Principal(tenant=ACME, user=UserId("ada"), role=Role.OWNER),
    "ben": Principal(tenant=ACME, user=UserId("ben")),
}
DESK = "https://desk.example.org"


@asynccontextmanager
async def a_house(folder: Path, **settings: Any) -> AsyncIterator[httpx2.AsyncClient]:
    known = StaticIdentities(
        [Identity(token_hash=hash_of(f"token-of-{name}"), principal=PEOPLE[name]) for name in PEOPLE]
    )
    async with Turnkeeper.open(folder / "house.db", settings=Settings(default_agent="echo", **settings)) as keeper:
        transport = httpx2.ASGITransport(create_app(keeper, known))
        async with httpx2.AsyncClient(transport=transport, base_url="http://house") as client:
            yield client


def token_of(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer token-of-{name}"}


async def raw(client: httpx2.AsyncClient, path: str, **headers: str) -> tuple[httpx2.Response, bytes]:
    async with client.stream("GET", path, headers=headers) as answer:
        return answer, b"".join([piece async for piece in answer.aiter_raw()])


async def test_long_json_comes_compressed_to_those_who_take_it(tmp_path: Path) -> None:
    async with a_house(tmp_path) as client:
        packed, less = await raw(client, "/openapi.json", **{"Accept-Encoding": "br, gzip"})
        plain, all_of_it = await raw(client, "/openapi.json", **{"Accept-Encoding": "gzip;q=0, identity"})

    assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(less) == all_of_it
    assert len(less) < len(all_of_it) / 4


async def test_what_is_short_or_was_kept_or_streams_is_sent_as_it_is(tmp_path: Path) -> None:
    async with a_house(tmp_path) as client:
        text = {"Content-Type": "text/plain", **token_of("ada")}
        artifact = (await client.post("/api/v1/artifacts", content=b"word " * 1000, headers=text)).json()
        stream = {"json": {"message": "word " * 1000, "stream": True}, "headers": token_of("ada")}
        said = await client.post("/api/v1/chat", **stream)  # type: ignore[arg-type]
        answers = [
            await client.get("/healthz"),
            await client.get(f"/api/v1/artifacts/{artifact['id']}/content", headers=token_of("ada")),
            said,
        ]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert said.headers["content-type"].startswith("text/event-stream")
    assert [answer.headers.get("content-encoding") for answer in answers] == [None, None, None]


async def test_what_has_no_body_gets_none_by_being_compressed(tmp_path: Path) -> None:
    headers = {"Accept-Encoding": "gzip", **token_of("ada")}
    async with a_house(tmp_path) as client:
        session = (await client.post("/api/v1/sessions", headers=headers)).json()
        kept = await client.put(
            f"/api/v1/sessions/{session['id']}/layout", json={"layout": {"columns": []}}, headers=headers
        )

    assert kept.status_code == 204
    assert "content-encoding" not in kept.headers
    assert kept.content == b""


async def test_what_one_has_already_is_not_sent_again(tmp_path: Path) -> None:
    async with a_house(tmp_path) as client:
        base = (await client.post("/api/v1/kbs", json={"name": "Handbook"}, headers=token_of("ada"))).json()
        path = f"/api/v1/kbs/{base['id']}"
        etag = (await client.get(path, headers=token_of("ada"))).headers["etag"]
        same = await client.get(path, headers={"If-None-Match": f'"none", W/{etag}', **token_of("ada")})
        source = {"name": "a.txt", "content": "We are open from nine to five."}
        await client.post(f"{path}/sources", json=source, headers=token_of("ada"))
        other = await client.get(path, headers={"If-None-Match": etag, **token_of("ada")})

    assert (same.status_code, same.headers["etag"], same.content) == (304, etag, b"")
    assert other.status_code == 200
    assert other.headers["etag"] != etag


@pytest.mark.parametrize(
    "path", ["/docs", "/openapi.json", "/api/v1/sessions", "/api/v1/sessions/{id}/feed", "/nowhere"]
)
async def test_head_tells_the_headers_of_get_and_nothing_else(tmp_path: Path, path: str) -> None:
    async with a_house(tmp_path) as client:
        session = (await client.post("/api/v1/sessions", headers=token_of("ada"))).json()
        plain = {"Accept-Encoding": "identity", **token_of("ada")}
        looked = await client.head(path.format(**session), headers=plain)
        refused = await client.put("/api/v1/sessions", headers=plain)

    assert looked.status_code == (404 if path == "/nowhere" else 200)
    assert looked.content == b""
    assert looked.headers["content-type"]
    assert refused.headers["allow"] == "GET, HEAD, POST"


async def test_no_page_of_another_origin_is_let_in_unless_it_is_named(tmp_path: Path) -> None:
    asked = {"Origin": DESK, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    async with a_house(tmp_path) as client:
        closed = await client.options("/api/v1/chat", headers=asked)
    async with a_house(tmp_path, cors_origins=f"{DESK}, https://other.example") as client:
        opened = await client.options("/api/v1/chat", headers=asked)
        stranger = await client.options("/api/v1/chat", headers={**asked, "Origin": "https://evil.example"})
        answer = await client.get("/healthz", headers={"Origin": DESK})

    assert (closed.status_code, closed.json()["code"]) == (405, "method_not_allowed")
    assert "access-control-allow-origin" not in closed.headers
    assert (opened.status_code, opened.headers["access-control-allow-origin"]) == (200, DESK)
    assert "access-control-allow-credentials" not in opened.headers
    assert "access-control-allow-origin" not in stranger.headers
    assert stranger.headers["content-type"] == "application/problem+json"
    assert (stranger.status_code, stranger.json()["code"]) == (400, "malformed_request")
    assert stranger.json()["request_id"] == stranger.headers["x-request-id"]
    assert answer.headers["access-control-allow-origin"] == DESK
    assert "ETag" in answer.headers["access-control-expose-headers"]
    assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize("origin", ["desk.example.org", "https://desk.example.org/", "null"])
def test_what_is_no_origin_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(SettingsInvalid, match="cors_origins"):
        Settings(cors_origins=origin)


@pytest.mark.parametrize(
    ("settings", "of_stranger"),
    [({}, 200), ({"host": "0.0.0.0"}, 401), ({"metrics": "token"}, 401), ({"host": "0.0.0.0", "metrics": "open"}, 200)],
)
async def test_the_numbers_are_for_this_machine_or_for_a_token(
    tmp_path: Path, settings: dict[str, Any], of_stranger: int
) -> None:
    async with a_house(tmp_path, **settings) as client:
        stranger = await client.get("/metrics")
        member = await client.get("/metrics", headers=token_of("ben"))
        owner = await client.get("/metrics", headers=token_of("ada"))

    assert stranger.status_code == of_stranger
    assert member.status_code == (200 if of_stranger == 200 else 403)
    assert owner.status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/api/v1/sessions", "/docs", "/"])
async def test_every_answer_says_that_it_is_nothing_but_what_it_is(tmp_path: Path, path: str) -> None:
    async with a_house(tmp_path) as client:
        answer = await client.get(path, headers={"X-Request-Id": "mine-7"})

    assert answer.headers["x-request-id"] == "mine-7"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "unsafe" not in answer.headers["content-security-policy"]
