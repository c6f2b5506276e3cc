"""Coming in: by the link that the server prints, by a token, and out again."""

from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.house import TOKEN


async def test_the_link_of_the_server_logs_in_and_its_token_is_gone_from_the_address(open_page: OpenPage) -> None:
    page = await open_page("/sessions")

    await expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    assert TOKEN not in page.url
    assert TOKEN not in await page.evaluate("JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie")


async def test_whoever_logs_out_is_shown_the_door_and_may_come_in_again(open_page: OpenPage) -> None:
    page = await open_page("/sessions")

    await page.get_by_role("button", name="Log out").click()
    await page.get_by_label("Token").fill("not a token")
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("alert")).to_contain_text("token")
    await page.get_by_label("Token").fill(TOKEN)
    await page.get_by_role("button", name="Log in").click()

    await expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
