"""An Idempotency-Key on requests that are no messages."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.test_around import a_house, token_of

PATH = "/api/v1/kbs"


async def make(client: httpx2.AsyncClient, key: str, body: Any, user: str = "ada") -> httpx2.Response:
    return await client.post(PATH, json=body, headers={"Idempotency-Key": key, **token_of(user)})


async def test_what_is_sent_twice_under_one_key_is_done_once_and_answered_alike(tmp_path: Path) -> None:
    async with a_house(tmp_path) as client:
        first, again = [await make(client, "order-7", {"name": "Handbook"}) for _ in range(2)]
        listed = (await client.get(PATH, headers=token_of("ada"))).json()["items"]

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert [again.headers[name] for name in ("etag", "location", "content-type")] == [
        first.headers[name] for name in ("etag", "location", "content-type")
    ]
    assert [base["id"] for base in listed] == [first.json()["id"]]


async def test_of_many_at_once_one_is_done(tmp_path: Path) -> None:
    async with a_house(tmp_path) as client:
        sent = await asyncio.gather(*(make(client, "order-7", {"name": "Handbook"}) for _ in range(8)))
        listed = (await client.get(PATH, headers=token_of("ada"))).json()["items"]

    assert len(listed) == 1
    assert {answer.json().get("code", "made") for answer in sent} <= {"made", "request_under_way"}
    assert all(answer.json()["retryable"] for answer in sent if answer.status_code == 409)


async def test_another_body_or_address_under_one_key_is_refused(tmp_path: Path) -> None:
    async with a_house(tmp_path) as client:
        await make(client, "order-7", {"name": "Handbook"})
        headers = {"Idempotency-Key": "order-7", **token_of("ada")}
        refused = [
            await make(client, "order-7", {"name": "Another"}),
            await client.post("/api/v1/projects", json={"name": "Handbook"}, headers=headers),
            await client.post("/api/v1/chat", json={"message": "Handbook"}, headers=headers),
        ]

    assert [answer.json()["code"] for answer in refused] == ["duplicate_request"] * 3


async def test_a_request_that_was_refused_can_be_corrected_under_its_key(tmp_path: Path) -> None:
    async with a_house(tmp_path) as client:
        refused = await make(client, "order-7", {"name": ""})
        made = await make(client, "order-7", {"name": "Handbook"})

    assert (refused.status_code, made.status_code) == (422, 201)


async def test_the_keys_of_two_users_are_two(tmp_path: Path) -> None:
    async with a_house(tmp_path) as client:
        his = await make(client, "order-7", {"name": "Ben's"}, user="ben")
        hers = await make(client, "order-7", {"name": "Handbook"})

    assert "duplicate_request" not in (his.text, hers.text)
    assert hers.json()["name"] == "Handbook"


@pytest.mark.parametrize("key", ["", "a b", "x" * 129])
async def test_a_key_of_the_wrong_shape_is_refused(tmp_path: Path, key: str) -> None:
    async with a_house(tmp_path) as client:
        refused = await make(client, key, {"name": "Handbook"})

    assert (refused.status_code, refused.json()["details"][0]["header"]) == (422, "Idempotency-Key")


async def test_every_post_that_makes_or_moves_something_takes_a_key(tmp_path: Path) -> None:
    naturally = {
        "/api/v1/artifacts": "the same content is kept once",
        "/api/v1/channels/{channel}/{binding}": "a delivery has an id of its own",
        "/api/v1/keys": "the answer is a secret",
        "/api/v1/keys/{key_id}/revoke": "revoked is revoked",
        "/api/v1/login": "nothing is made",
        "/api/v1/sessions/{session_id}/release": "asked again, it gives the same again, which is not to be kept",
    }
    async with a_house(tmp_path) as client:
        document = (await client.get("/openapi.json")).json()

    without = [
        path
        for path, operations in document["paths"].items()
        if "post" in operations
        and "idempotency-key" not in {each["name"].lower() for each in operations["post"].get("parameters", [])}
    ]
    assert sorted(without) == sorted(naturally)
