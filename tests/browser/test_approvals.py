"""Deciding what agents ask for."""

from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House
from turnkeeper import Role
from turnkeeper.model.principal import Principal


def pending(page: Page) -> Locator:
    return page.get_by_role("list", name="Pending approvals").get_by_role("listitem")


def decided(page: Page) -> Locator:
    return page.get_by_role("table", name="Decided approvals").locator("tbody tr")


async def answer_of(house: House, run_id: str) -> str:
    async for _ in house.keeper.follow(await house.keeper.run(run_id)):
        pass
    reply = await house.keeper.reply_of(await house.keeper.run(run_id))
    assert reply is not None
    return reply.text


async def test_what_agents_ask_for_is_approved_and_rejected(house: House, open_page: OpenPage) -> None:
    yes = await house.keeper.chat("Call back about the invoice", agent="clerk")
    no = await house.keeper.chat("Delete <b>everything</b>", agent="clerk")
    page = await open_page("/approvals")
    menu = page.get_by_role("navigation", name="Console")

    await expect(pending(page)).to_have_count(2)
    await expect(menu.get_by_role("link", name="Approvals 2 waiting")).to_be_visible()
    first = pending(page).filter(has_text="invoice")
    await expect(first).to_contain_text("clerk asks: may I call connector.crm.write?")
    await expect(first).to_contain_text("23 h 59 min, then it is refused")
    await expect(first).to_contain_text("connector.*.write is for member or above")
    await first.get_by_label("Why").fill("Agreed on the phone")
    await first.get_by_role("button", name="Approve").click()
    await expect(pending(page)).to_have_count(1)
    await expect(menu.get_by_role("link", name="Approvals 1 waiting")).to_be_visible()
    await expect(pending(page)).to_contain_text("<b>everything</b>")
    await pending(page).get_by_role("button", name="Reject").click()
    await expect(page.get_by_text("Nothing waits for a decision")).to_be_visible()
    await expect(menu.get_by_role("link", name="Approvals", exact=True)).to_be_visible()
    await expect(decided(page)).to_have_count(2)
    await expect(decided(page).filter(has_text="approved")).to_contain_text("Agreed on the phone")
    await decided(page).filter(has_text="rejected").get_by_role("link", name="Why").click()

    await page.wait_for_url(f"**/sessions/{no.session_id}/why/{no.run_id}")
    assert await answer_of(house, yes.run_id) == "ok wrote 27"
    assert await answer_of(house, no.run_id) == "denied approval_required"


async def test_an_approval_that_comes_later_shows_up_by_itself(house: House, open_page: OpenPage) -> None:
    page = await open_page("/approvals")
    await page.clock.install()
    await page.reload()
    await expect(page.get_by_text("Nothing waits for a decision")).to_be_visible()

    await house.keeper.chat("Call back", agent="clerk")
    await page.clock.run_for(6_000)

    await expect(pending(page)).to_have_count(1)
    await pending(page).get_by_role("link", name="Open the session").click()
    await expect(page.get_by_role("navigation", name="Session")).to_be_visible()


async def test_whoever_may_not_decide_is_told_who_may(house: House, open_page: OpenPage) -> None:
    viewer = await house.keeper.keys.create("eye", user="mia", role="viewer")
    mia = Principal(tenant=viewer.key.tenant, user=viewer.key.user, role=Role.MEMBER)
    await house.keeper.chat("Call back", agent="clerk", principal=mia)
    page = await open_page("/approvals", token=viewer.token)

    await expect(pending(page)).to_contain_text("decided by member or admin or owner, and you are viewer")
    await expect(page.get_by_role("button", name="Approve")).to_have_count(0)
