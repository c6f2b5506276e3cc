"""Logging a browser in."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.server.callers import ADA, Callers, Calls, a_house
from turnkeeper import Principal, Role
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import Identity, StaticIdentities, hash_of


async def logged_in(house: Callers, token: str = "token-of-ben") -> tuple[Calls, dict[str, Any]]:
    browser = house.with_token(None)
    answer = await browser("POST", "/login", {"token": token})
    assert answer.status_code == 200, answer.text
    return browser, answer.json()


async def test_a_cookie_lets_its_browser_in_and_holds_no_token_of_its_user(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        browser = house.with_token(None)

        answer = await browser("POST", "/login", {"token": "token-of-ben"})

        cookie = answer.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
        assert "token-of-ben" not in cookie
        me = (await browser("GET", "/me")).json()
        assert (me["user"], me["csrf"]) == ("ben", answer.json()["csrf"])
        (login,) = (await browser("GET", "/keys?kind=login")).json()["items"]
        assert me["login_id"] == answer.json()["login_id"] == login["id"]
        assert (await house.with_token("token-of-ben")("GET", "/me")).json()["login_id"] is None


async def test_whoever_may_only_read_logs_in_and_out_too(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        key = await house.keeper.keys.create("eye", role="viewer", principal=ADA)
        browser, me = await logged_in(house, key.token)

        refused = await browser("POST", "/chat", {"message": "Hello"}, x_csrf_token=me["csrf"])
        left = await browser("DELETE", "/login", x_csrf_token=me["csrf"])

        assert (refused.status_code, left.status_code) == (403, 204)
        assert (await browser("GET", "/sessions")).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x_csrf_token": ""},
        {"x_csrf_token": "0" * 64},
    ],
)
async def test_a_change_by_cookie_needs_the_word_of_our_own_page(tmp_path: Path, headers: dict[str, str]) -> None:
    async with a_house(tmp_path) as house:
        browser, _ = await logged_in(house)

        refused = await browser("POST", "/chat", {"message": "Hello"}, **headers)

        assert (refused.status_code, refused.json()["code"]) == (403, "csrf_refused")
        assert (await browser("GET", "/sessions")).json()["items"] == []


async def test_a_change_by_cookie_is_made_with_that_word(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        browser, me = await logged_in(house)

        said = await browser("POST", "/chat", {"message": "Hello"}, x_csrf_token=me["csrf"])

        assert said.status_code == 200
        assert (await browser("GET", "/me")).json()["csrf"] == me["csrf"]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_what_another_site_asks_for_is_refused_whatever_it_knows(tmp_path: Path, site: str) -> None:
    async with a_house(tmp_path) as house:
        browser, me = await logged_in(house)

        chat = await browser("POST", "/chat", {"message": "Hi"}, x_csrf_token=me["csrf"], sec_fetch_site=site)
        login = await browser("POST", "/login", {"token": "token-of-ada"}, sec_fetch_site=site)

        assert [each.json()["code"] for each in (chat, login)] == ["csrf_refused", "csrf_refused"]


async def test_logging_out_ends_the_login_and_not_the_token(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        browser, me = await logged_in(house)
        cookies = dict(browser.client.cookies)

        gone = await browser("DELETE", "/login", x_csrf_token=me["csrf"])

        thief = house.with_token(None)
        thief.client.cookies.update(cookies)
        assert gone.status_code == 204
        assert (await thief("GET", "/me")).status_code == 401
        assert (await browser("GET", "/me")).status_code == 401
        assert (await house.ben("GET", "/me")).status_code == 200


async def test_a_login_ends_with_the_token_that_it_was_made_with(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        browser, _ = await logged_in(house)
        cookies = dict(browser.client.cookies)

        # The server comes back without that token in its file.
        without = Callers(house.keeper, create_app(house.keeper, StaticIdentities([])))
        late = without.with_token(None)
        late.client.cookies.update(cookies)

        assert (await late("GET", "/me")).status_code == 401


async def test_a_login_with_a_key_ends_with_the_key(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        key = (await house.ben("POST", "/keys", {"name": "mine"})).json()
        browser, _ = await logged_in(house, key["token"])

        await house.ben("POST", f"/keys/{key['id']}/revoke")

        assert (await browser("GET", "/me")).status_code == 401


async def test_a_login_is_good_as_a_cookie_alone_and_a_key_never_is(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        browser, _ = await logged_in(house)
        (name, login), *_ = browser.client.cookies.items()
        key = (await house.ben("POST", "/keys", {"name": "mine"})).json()["token"]
        as_cookie = house.with_token(None)
        as_cookie.client.cookies.set(name, key)

        assert (await house.with_token(login)("GET", "/me")).status_code == 401
        assert (await as_cookie("GET", "/me")).status_code == 401


async def test_a_wrong_token_logs_nobody_in(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        refused = await house.with_token(None)("POST", "/login", {"token": "token-of-nobody"})

        assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)


async def test_a_bearer_needs_no_word_of_a_page(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        me = (await house.ben("GET", "/me")).json()

        assert (me["user"], me["role"], me["rights"], me["csrf"]) == ("ben", "member", ["read", "write"], None)
        assert (await house.ben("POST", "/chat", {"message": "Hi"}, sec_fetch_site="cross-site")).status_code == 200


def with_people(house: Callers, *people: Principal) -> Callers:
    """The same house after a restart with another file of identities."""
    named = [Identity(token_hash=hash_of(f"token-of-{who.user}"), principal=who) for who in people]
    return Callers(house.keeper, create_app(house.keeper, StaticIdentities(named)))


async def test_a_login_speaks_for_whom_its_token_speaks_now(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        browser, before = await logged_in(house, "token-of-ada")
        demoted = with_people(house, replace(ADA, role=Role.VIEWER)).with_token(None)
        demoted.client.cookies.update(dict(browser.client.cookies))

        after = (await demoted("GET", "/me")).json()

        assert (before["role"], after["role"]) == ("owner", "viewer")


async def test_a_login_has_the_role_that_the_directory_says(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        await house.keeper.users.create("ben", role="admin", principal=ADA)
        browser, told = await logged_in(house)

        assert told["role"] == (await browser("GET", "/me")).json()["role"] == "admin"


async def test_a_login_with_a_key_counts_for_the_rate_of_the_key(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        rate = {"per_second": 0.001, "burst": 2}
        key = (await house.ben("POST", "/keys", {"name": "slow", "rate": rate})).json()
        browser, _ = await logged_in(house, key["token"])

        answers = [(await browser("GET", "/sessions")).status_code for _ in range(3)]

        assert answers == [200, 429, 429]


async def test_who_has_a_limited_or_bound_token_may_see_who_they_are_and_leave(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        session = (await house.ben("POST", "/chat", {"message": "Hello"})).json()["session_id"]
        for body in ({"name": "x", "limited_to": ["kbs:read"]}, {"name": "y", "session_id": session}):
            token = (await house.ben("POST", "/keys", body)).json()["token"]
            browser, me = await logged_in(house, token)

            assert (await browser("GET", "/me")).status_code == 200
            assert (await browser("DELETE", "/login", x_csrf_token=me["csrf"])).status_code == 204


async def test_an_old_cookie_is_no_guess(tmp_path: Path) -> None:
    async with a_house(tmp_path, failed_tokens=3) as house:
        browser, _ = await logged_in(house)
        restarted = with_people(house, ADA)
        tab = restarted.with_token(None)
        tab.client.cookies.update(dict(browser.client.cookies))

        asked = [(await tab("GET", "/me")).json()["code"] for _ in range(10)]

        assert asked == ["token_revoked"] * 10
        assert (await restarted.ada("GET", "/me")).status_code == 200


async def test_logins_are_listed_and_ended_like_keys(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        browser, _ = await logged_in(house)
        (login,) = (await house.ben("GET", "/keys?kind=login")).json()["items"]

        await house.ada("POST", f"/keys/{login['id']}/revoke")

        assert (await browser("GET", "/me")).status_code == 401
        assert (await house.ben("GET", "/keys")).json()["items"] == []
