"""Logging a browser in."""

from pathlib import Path
from typing import Any

import pytest

from tests.server.callers import Callers, Calls, a_house
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import StaticIdentities


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
        assert (await browser("GET", "/sessions")).status_code == 200


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
