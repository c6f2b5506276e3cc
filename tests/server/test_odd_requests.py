"""Requests that are odd in their own way get a clear answer, and nothing breaks."""

from pathlib import Path

import httpx2
import pytest

from turnkeeper import Principal, Role, TenantId, Turnkeeper, UserId
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import Identity, StaticIdentities, hash_of

ADA = Principal(tenant=TenantId("acme"), user=UserId("ada"), role=Role.OWNER)
HALF = "\\ud800"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/manifests", f'{{"entries": [], "metadata": {{"x": "{HALF}"}}}}', 422),
        ("POST", "/manifests", f'{{"entries": [], "metadata": {{"{HALF}": 1}}}}', 422),
        ("GET", "/pointers?namespace=%00", None, 422),
        ("GET", "/bindings?cursor=%00", None, 422),
    ],
)
async def test_what_no_store_can_write_is_refused_before_it_gets_there(
    tmp_path: Path, method: str, path: str, body: str | None, status: int
) -> None:
    async with Turnkeeper.open(tmp_path / "x.db") as keeper:
        app = create_app(keeper, StaticIdentities([Identity(token_hash=hash_of("token-of-ada"), principal=ADA)]))
        headers = {"Authorization": "Bearer token-of-ada", "Content-Type": "application/json"}
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://house/api/v1", headers=headers) as client:
            answer = await client.request(method, path, content=body)

    assert answer.status_code == status, answer.text
    assert answer.json()["code"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/projects", "GET, HEAD, POST"),
        ("DELETE", "/projects/x", "GET, HEAD, PATCH"),
        ("GET", "/sessions/x/layout", "DELETE, PUT"),
    ],
)
async def test_a_method_that_an_address_does_not_take_is_told_all_that_it_takes(
    tmp_path: Path, method: str, path: str, allowed: str
) -> None:
    async with Turnkeeper.open(tmp_path / "x.db") as keeper:
        app = create_app(keeper, StaticIdentities([Identity(token_hash=hash_of("token-of-ada"), principal=ADA)]))
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://house/api/v1") as client:
            answer = await client.request(method, path, headers={"Authorization": "Bearer token-of-ada"})

    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert allowed.partition(",")[0] in answer.json()["detail"]
