"""API keys over HTTP."""

from functools import partial
from pathlib import Path

import pytest
from fastapi import FastAPI, Request

from tests.server.callers import ADA, BEN, Callers, a_house
from turnkeeper import Role, TenantId, UserId
from turnkeeper.model.principal import Principal
from turnkeeper.server.app import create_app
from turnkeeper.server.closing import Closing
from turnkeeper.server.guard import is_still_let_in
from turnkeeper.server.identities import Identity, StaticIdentities, hash_of
from turnkeeper.server.sse import Stream

VERA = Principal(tenant=TenantId("acme"), user=UserId("vera"), role=Role.VIEWER)


async def test_a_key_is_made_used_listed_and_revoked(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        made = await house.ben("POST", "/keys", {"name": "reports", "rate": {"per_second": 5, "burst": 9}})
        key = made.json()
        robot = house.with_token(key["token"])

        said = await robot("POST", "/chat", {"message": "Hello"})
        me = (await robot("GET", "/me")).json()
        listed = (await house.ada("GET", "/keys")).json()["items"]
        read = (await house.ben("GET", f"/keys/{key['id']}")).json()
        revoked = await house.ben("POST", f"/keys/{key['id']}/revoke")
        after = await robot("GET", "/sessions")

        assert (made.status_code, made.headers["location"]) == (201, f"/api/v1/keys/{key['id']}")
        assert (said.status_code, me["user"], me["key_id"]) == (200, "ben", key["id"])
        assert [each["id"] for each in listed] == [read["id"]] == [key["id"]]
        assert read["used_at"] is not None
        assert read["rate"] == {"per_second": 5.0, "burst": 9}
        assert "token" not in read
        assert revoked.json()["revoked_at"] is not None
        assert (after.status_code, after.json()["code"]) == (401, "token_revoked")


async def test_a_limited_key_opens_what_it_is_for_and_nothing_else(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        body = {"name": "watch", "limited_to": ["sessions:read", "kbs:*", "*:manage"]}
        robot = house.with_token((await house.ada("POST", "/keys", body)).json()["token"])

        opened = [await robot("GET", "/sessions"), await robot("GET", "/kbs"), await robot("GET", "/audit")]
        closed = [
            await robot("POST", "/chat", {"message": "Hello"}),
            await robot("GET", "/packs"),
            await robot("POST", "/keys", {"name": "more"}),
        ]

        assert [each.status_code for each in opened] == [200, 200, 200]
        assert [(each.status_code, each.json()["needs"]) for each in closed] == [
            (403, "sessions:write"),
            (403, "packs:read"),
            (403, "keys:write"),
        ]


async def test_a_key_with_a_rate_is_told_when_to_come_again(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        body = {"name": "slow", "rate": {"per_second": 0.001, "burst": 1}}
        robot = house.with_token((await house.ben("POST", "/keys", body)).json()["token"])

        first, second = await robot("GET", "/sessions"), await robot("GET", "/sessions")

        assert first.status_code == 200
        assert (second.status_code, second.json()["code"]) == (429, "rate_limited")
        assert int(second.headers["retry-after"]) > 0


async def test_the_key_of_an_agent_reads_its_session_and_changes_nothing(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        said = (await house.ben("POST", "/chat", {"message": "Hello"})).json()
        other = (await house.ben("POST", "/chat", {"message": "Another"})).json()
        body = {"name": "bot", "session_id": said["session_id"]}
        bot = house.with_token((await house.ben("POST", "/keys", body)).json()["token"])

        assert (await bot("GET", f"/sessions/{said['session_id']}/messages")).status_code == 200
        assert (await bot("GET", f"/sessions/{other['session_id']}")).status_code == 404
        assert (await bot("POST", "/keys", {"name": "more"})).status_code == 403
        chat = await bot("POST", "/chat", {"message": "Hi", "session_id": said["session_id"]})
        assert (chat.status_code, chat.json()["code"]) == (403, "scope_denied")
        assert (await bot("GET", "/me")).json()["session_id"] == said["session_id"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": "x", "role": "king"}, "/role"),
        ({"name": "x", "limited_to": ["everything"]}, "/limited_to/0"),
        ({"name": "x", "limited_to": []}, "/limited_to"),
        ({"name": "x", "expires_at": "soon"}, "/expires_at"),
        ({"name": "x", "expires_at": "2020-01-01T00:00:00Z"}, "/expires_at"),
        ({"name": "x", "rate": {"per_second": 0, "burst": 1}}, "/rate/per_second"),
        ({"name": "x", "user": "not an id"}, "/user"),
        ({"name": "x", "secret": "mine"}, "/secret"),
    ],
)
async def test_a_key_that_cannot_be_meant_is_not_made(tmp_path: Path, body: dict[str, object], pointer: str) -> None:
    async with a_house(tmp_path) as house:
        refused = await house.ada("POST", "/keys", body)

        assert refused.status_code == 422, refused.text
        assert [fault["pointer"] for fault in refused.json()["details"]] == [pointer]
        assert (await house.ada("GET", "/keys")).json()["items"] == []


async def test_a_user_has_only_so_many_keys(tmp_path: Path) -> None:
    async with a_house(tmp_path, keys=1) as house:
        first = await house.ben("POST", "/keys", {"name": "one"})
        second = await house.ben("POST", "/keys", {"name": "two"})

        assert (first.status_code, second.status_code) == (201, 409)
        assert second.json()["code"] == "too_many_keys"


async def test_a_viewer_makes_no_keys(tmp_path: Path) -> None:
    async with a_house(tmp_path, more=[VERA]) as house:
        refused = await house.with_token("token-of-vera")("POST", "/keys", {"name": "mine"})

        assert (refused.status_code, refused.json()["needs"]) == (403, "keys:write")
        assert "you are viewer" in refused.json()["detail"]


@pytest.mark.parametrize("way", ["revoked", "suspended"])
async def test_a_stream_ends_with_the_right_to_read_it(tmp_path: Path, way: str) -> None:
    async with a_house(tmp_path) as house:
        await house.keeper.users.create("ben", principal=ADA)
        session = (await house.ben("POST", "/chat", {"message": "Hello"})).json()["session_id"]
        key = (await house.ben("POST", "/keys", {"name": "watch"})).json()
        stream = Stream(
            keeper=house.keeper,
            principal=BEN,
            session_id=session,
            frames=house.keeper.follow_session(session, principal=BEN, after=0),
            closing=Closing(),
            stays=partial(is_still_let_in, await shown(house, key["token"])),
        )
        events = stream._events()
        first = await anext(events)

        if way == "revoked":
            await house.ben("POST", f"/keys/{key['id']}/revoke")
        else:
            await house.keeper.users.change("ben", status="suspended", principal=ADA)

        assert first.event == "run.accepted"
        assert [event async for event in events] == []


async def shown(house: Callers, token: str) -> Request:
    """A request that was let in with this token."""
    request = Request({"type": "http", "app": house.app, "state": {}, "headers": []})
    request.state.shown = await house.app.state.tokens.shown(token, address="192.0.2.7")
    return request


async def test_a_token_that_is_bound_to_a_session_brings_nothing_through_a_door(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        session = (await house.ben("POST", "/chat", {"message": "Hello"})).json()["session_id"]
        bound = (await house.ben("POST", "/keys", {"name": "bot", "session_id": session})).json()["token"]
        door = (await house.ada("POST", "/bindings", {"name": "app", "channel": "api", "auth": "token"})).json()

        refused = await house.with_token(bound)("POST", f"/channels/api/{door['id']}", {"text": "Hi", "user": "ben"})

        assert (refused.status_code, refused.json()["code"]) == (403, "scope_denied")


async def test_what_was_answered_once_is_not_told_to_who_may_not_see_it_any_more(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        await house.keeper.users.create("adam", role="admin", principal=ADA)
        adam = Callers(house.keeper, with_adam(house)).with_token("token-of-adam")
        session = (await house.ben("POST", "/chat", {"message": "Hello"})).json()["session_id"]
        first = await adam("POST", f"/sessions/{session}/pause", idempotency_key="once-1")

        await house.keeper.users.change("adam", role="member", principal=ADA)
        again = await adam("POST", f"/sessions/{session}/pause", idempotency_key="once-1")

        assert (first.status_code, again.status_code) == (200, 404)


def with_adam(house: Callers) -> FastAPI:
    adam = Principal(tenant=TenantId("acme"), user=UserId("adam"), role=Role.ADMIN)
    return create_app(house.keeper, StaticIdentities([Identity(token_hash=hash_of("token-of-adam"), principal=adam)]))
