"""Coming in: by the link that the server prints, by a token, out again, and what is left for the next one: nothing."""

from playwright.async_api import Page, Request, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import TOKEN, House, settled

SIGHT = """() => {
  let isHidden = false;
  Object.defineProperty(document, "hidden", { get: () => isHidden });
  window.turnTo = (hidden) => {
    isHidden = hidden;
    document.dispatchEvent(new Event("visibilitychange"));
  };
}"""
"""Hides the page from itself as a browser does when another tab is looked at."""


async def log_in(page: Page, token: str) -> None:
    await page.get_by_label("Token").fill(token)
    await page.get_by_role("button", name="Log in").click()


async def log_in_elsewhere(page: Page, house: House, token: str) -> None:
    """In the same browser, where no page of it can tell the others."""
    answer = await page.context.request.post(f"{house.url}/api/v1/login", data={"token": token})
    assert answer.ok


async def last_frame_of(request: Request) -> int:
    return int((await request.all_headers())["last-event-id"])


async def token_of_mia(house: House) -> str:
    return (await house.keeper.keys.create("of mia", user="mia", role="member")).token


async def test_the_link_of_the_server_logs_in_and_its_token_is_gone_from_the_address(open_page: OpenPage) -> None:
    page = await open_page("/sessions")

    await expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    assert TOKEN not in page.url
    assert TOKEN not in await page.evaluate("JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie")


async def test_whoever_logs_out_is_shown_the_door_and_may_come_in_again(open_page: OpenPage) -> None:
    page = await open_page("/sessions")

    await page.get_by_role("button", name="Log out").click()
    await log_in(page, "not a token")
    await expect(page.get_by_role("alert")).to_contain_text("token")
    await log_in(page, TOKEN)

    await expect(page.get_by_role("heading", name="Sessions")).to_be_visible()


async def test_nothing_of_one_user_is_shown_to_the_next_in_the_same_tab(house: House, open_page: OpenPage) -> None:
    id = (await house.keeper.chat("The heating is broken")).session_id
    mia = await token_of_mia(house)
    page = await open_page(f"/sessions/{id}")
    secret = page.get_by_text("The heating is broken")
    await expect(secret.first).to_be_visible()

    await page.context.clear_cookies()
    await page.get_by_role("link", name="Artifacts").click()
    await log_in(page, mia)
    await expect(page.get_by_text("mia")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("alert")).to_contain_text("session_not_found")
    await expect(secret).to_have_count(0)

    await page.get_by_role("button", name="Log out").click()
    await log_in(page, TOKEN)
    await expect(secret.first).to_be_visible()
    await page.get_by_role("button", name="Log out").click()
    await log_in(page, mia)
    await expect(page.get_by_role("alert")).to_contain_text("session_not_found")
    await expect(secret).to_have_count(0)


async def test_a_login_in_another_tab_is_noticed(house: House, open_page: OpenPage) -> None:
    page = await open_page("/sessions")
    other = await page.context.new_page()

    await other.goto(f"{house.url}/console/#token={await token_of_mia(house)}")
    await settled(other)

    await expect(page.get_by_role("navigation", name="Console")).to_contain_text("mia")
    await other.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("heading", name="Open the console")).to_be_visible()


async def test_a_change_is_asked_for_again_only_if_the_new_login_is_of_the_same_user(
    house: House, open_page: OpenPage
) -> None:
    id = (await house.keeper.chat("The heating is broken")).session_id
    page = await open_page(f"/sessions/{id}")

    async def rename(title: str) -> None:
        await page.get_by_role("button", name="Rename").click()
        await page.get_by_label("Title").fill(title)
        await page.get_by_role("button", name="Save").click()

    await log_in_elsewhere(page, house, TOKEN)
    await rename("The heating")
    await expect(page.get_by_role("heading", name="The heating", exact=True)).to_be_visible()
    await log_in_elsewhere(page, house, await token_of_mia(house))
    await rename("Of somebody else")

    await expect(page.get_by_role("navigation", name="Console")).to_contain_text("mia")
    await expect(page.get_by_text("The heating is broken")).to_have_count(0)
    assert (await house.keeper.session(id)).title == "The heating"


async def test_every_page_has_a_name_of_its_own_and_the_menu_of_a_phone_is_left_by_keyboard(
    house: House, open_page: OpenPage
) -> None:
    await house.keeper.chat("The heating is broken")
    page = await open_page("/sessions", width=375)
    menu = page.get_by_role("navigation", name="Console")
    opener = page.get_by_role("banner").get_by_role("button")

    await expect(page).to_have_title("Sessions · turnkeeper")
    await page.get_by_role("link", name="The heating is broken").click()
    await expect(page).to_have_title("The heating is broken · Chat · turnkeeper")
    await page.get_by_role("link", name="Why").first.click()
    await expect(page).to_have_title("The heating is broken · Why · turnkeeper")
    await opener.click()
    await menu.get_by_role("link", name="Artifacts").click()
    await expect(page).to_have_title("Artifacts · turnkeeper")
    await opener.click()
    await expect(menu).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(menu).to_be_hidden()
    await expect(opener).to_be_focused()
    await opener.click()
    await menu.get_by_role("button", name="Log out").click()

    await expect(page).to_have_title("Log in · turnkeeper")


async def test_a_hidden_page_holds_no_line_and_goes_on_behind_the_last_frame_when_it_is_seen(
    house: House, open_page: OpenPage
) -> None:
    id = (await house.keeper.chat("The heating is broken")).session_id
    page = await open_page("/sessions")
    is_feed = f"/sessions/{id}/feed"
    await page.evaluate(SIGHT)
    async with page.expect_response(lambda response: response.url.endswith(is_feed)) as first:
        await page.get_by_role("link", name="The heating is broken").click()
    await house.keeper.chat("Still cold", session_id=id)
    await expect(page.get_by_text("You said: Still cold").first).to_be_visible()

    async with page.expect_event("requestfailed", lambda request: request.url.endswith(is_feed)):
        await page.evaluate("turnTo(true)")
    await house.keeper.chat("Colder still", session_id=id)
    async with page.expect_request(lambda request: request.url.endswith(is_feed)) as resumed:
        await page.evaluate("turnTo(false)")

    await expect(page.get_by_text("You said: Colder still").first).to_be_visible()
    assert 0 < await last_frame_of((await first.value).request) < await last_frame_of(await resumed.value)


async def test_a_page_copies_where_the_browser_has_no_clipboard_for_it(house: House, open_page: OpenPage) -> None:
    id = (await house.keeper.chat("The heating is broken")).session_id
    page = await open_page("/sessions")
    await page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await page.goto(f"{house.url}/console/sessions/{id}")

    await page.get_by_role("button", name="Copy the answer").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    await page.get_by_label("Message", exact=True).press("Control+V")

    await expect(page.get_by_label("Message", exact=True)).to_have_value("You said: The heating is broken")
