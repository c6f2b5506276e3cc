"""Making keys and taking them back."""

import httpx
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("table").get_by_role("row").filter(has_text=name)


async def status_with(house: House, token: str, path: str) -> int:
    async with httpx.AsyncClient(base_url=f"{house.url}/api/v1", headers={"Authorization": f"Bearer {token}"}) as api:
        return (await api.get(path)).status_code


async def test_a_key_is_made_shown_once_works_within_its_limits_and_is_revoked(
    house: House, open_page: OpenPage
) -> None:
    page = await open_page("/keys")

    await page.get_by_role("button", name="Make a key").click()
    form = page.get_by_role("dialog")
    await form.get_by_role("button", name="Make the key").click()
    await expect(form.get_by_text("Say what it is for")).to_be_visible()
    await form.get_by_label("Name").fill("nightly export")
    await form.get_by_label("Role", exact=True).select_option("viewer")
    await form.get_by_label("Lasts").select_option("a week")
    await form.get_by_label("Only what I choose").check()
    await form.get_by_label("sessions:read", exact=True).check()
    await form.get_by_text("Bind it to a session").click()
    await form.get_by_label("Requests a second").fill("5")
    await form.get_by_label("And at once").fill("50")
    await form.get_by_role("button", name="Make the key").click()
    await expect(form.get_by_text("it is shown this once")).to_be_visible()
    token = await form.locator("[data-token]").inner_text()
    assert await status_with(house, token, "/sessions") == 200
    assert await status_with(house, token, "/keys") == 403
    await form.get_by_role("button", name="I have kept it").click()

    await expect(row(page, "nightly export")).to_contain_text("sessions:read")
    await expect(row(page, "nightly export")).to_contain_text("local (viewer)")
    await expect(row(page, "nightly export")).to_contain_text("5 a second, 50 at once")
    await expect(page.get_by_text(token)).to_have_count(0)
    await row(page, "nightly export").get_by_role("button", name="Revoke").click()
    await page.get_by_role("button", name="Revoke it").click()
    await expect(row(page, "nightly export")).to_contain_text("revoked")
    assert await status_with(house, token, "/sessions") == 401


async def test_the_key_of_a_session_is_an_agents_and_reaches_that_session_alone(
    house: House, open_page: OpenPage
) -> None:
    here, elsewhere = [(await house.keeper.create_session()).id for _ in range(2)]
    page = await open_page("/keys")

    await page.get_by_role("button", name="Make a key").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("Name").fill("worker")
    await form.get_by_text("Bind it to a session").click()
    await form.get_by_label("Only in this session").fill("sess_unknown")
    await form.get_by_role("button", name="Make the key").click()
    await expect(form.get_by_role("alert")).to_contain_text("session_not_found")
    await form.get_by_label("Only in this session").fill(here)
    await form.get_by_role("button", name="Make the key").click()
    token = await form.locator("[data-token]").inner_text()

    assert [await status_with(house, token, f"/sessions/{id}") for id in (here, elsewhere)] == [200, 404]
    await page.keyboard.press("Escape")
    await expect(row(page, "worker")).to_contain_text("agent")


async def test_logins_are_told_apart_and_revoking_ones_own_leads_to_the_door(house: House, open_page: OpenPage) -> None:
    page = await open_page("/keys")

    await expect(page.get_by_text("No keys yet")).to_be_visible()
    await page.get_by_role("link", name="Logins of browsers").click()
    await expect(row(page, "this browser")).to_have_count(1)
    await row(page, "this browser").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_text("you will be logged out")).to_be_visible()
    await page.get_by_role("button", name="Revoke it").click()

    await expect(page.get_by_label("Token")).to_be_visible()


async def test_a_member_sees_and_makes_their_own_keys(house: House, open_page: OpenPage) -> None:
    await house.keeper.keys.create("of the owner")
    member = await house.keeper.keys.create("of mia", user="mia", role="member")
    page = await open_page("/keys", token=member.token)

    await expect(row(page, "of mia")).to_have_count(1)
    await expect(row(page, "of the owner")).to_have_count(0)
    await page.get_by_role("button", name="Make a key").click()
    form = page.get_by_role("dialog")
    await expect(form.get_by_label("Speaks for")).to_have_count(0)
    roles = await form.get_by_label("Role", exact=True).get_by_role("option").all_inner_texts()
    assert roles == ["yours (member)", "member", "agent", "viewer"]
