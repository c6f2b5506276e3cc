"""Knowledge: units with where they come from and what became of them, and the bases that a session may use."""

import re

from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House

HOSTILE = '<img src=x onerror="window.hurt=1"> [a](javascript:hurt) ' + "w" * 300


async def a_session_that_knows(house: House, *texts: str) -> str:
    session = await house.keeper.create_session(agent="symbolic")
    for text in texts:
        await house.keeper.units.import_text(session.id, text)
    return str(session.id)


async def test_units_are_found_and_show_where_they_come_from_and_what_replaced_them(
    house: House, open_page: OpenPage
) -> None:
    told = await house.keeper.chat("The port of the staging server is 80. Dogs are welcome.", agent="symbolic")
    await house.keeper.chat("The port of the staging server is 81.", session_id=told.session_id)
    page = await open_page(f"/sessions/{told.session_id}/knowledge")

    await expect(page.get_by_text("2 units", exact=True)).to_be_visible()
    await page.get_by_label("Search").fill("port staging")
    await expect(page.get_by_text("1 unit", exact=True)).to_be_visible()
    await page.get_by_role("button", name=re.compile("is 81")).click()

    panel = page.get_by_role("complementary", name="Unit")
    await expect(panel.get_by_role("link", name="The run that made it")).to_be_visible()
    await expect(panel.get_by_text("turn 2")).to_be_visible()
    await expect(panel.get_by_text("replaced by")).to_be_visible()
    await panel.get_by_role("button", name=re.compile("is 80")).click()
    await expect(panel.get_by_text("turn 1")).to_be_visible()
    await page.reload()
    await expect(panel.get_by_role("button", name=re.compile("is 81"))).to_be_visible()
    await panel.get_by_role("link", name="The run that made it").click()
    await expect(page.get_by_role("region", name="Answered")).to_contain_text("Dogs are welcome")


async def test_a_unit_is_edited_and_then_forgotten(house: House, open_page: OpenPage) -> None:
    session_id = await a_session_that_knows(house, "The harbour opens at six.")
    page = await open_page(f"/sessions/{session_id}/knowledge")
    await page.get_by_role("button", name=re.compile("opens at six")).click()
    panel = page.get_by_role("complementary", name="Unit")

    await panel.get_by_role("button", name="Edit").click()
    await page.get_by_label("What it says").fill("The harbour opens at seven.")
    await page.get_by_role("button", name="Save").click()
    await expect(panel.locator("ol")).to_contain_text("The harbour opens at six.")
    await expect(panel.get_by_text("The harbour opens at seven.").first).to_be_visible()
    await panel.get_by_role("button", name="Forget").click()
    await expect(page.get_by_role("dialog")).to_contain_text("lost for good")
    await page.get_by_role("button", name="Forget it").click()

    await expect(panel).to_contain_text("gone for good")
    units = [unit.status.value for _, unit in await house.keeper.units.list(session_id)]
    assert units == ["superseded", "forgotten"]


async def test_units_are_added_and_a_fault_is_shown_at_its_line(house: House, open_page: OpenPage) -> None:
    session_id = await a_session_that_knows(house)
    page = await open_page(f"/sessions/{session_id}/knowledge", width=375)
    await expect(page.get_by_text("This session knows nothing yet")).to_be_visible()

    await page.get_by_role("button", name="Add units").click()
    await page.get_by_label("Written as").select_option("units")
    lines = ['@k1 ku atomic "r"', "@k2 set $k1 sourceId s", "@k3 set $k1 chunkId s", "@k4 set $k1 topic dogs"]
    lines += ["@k5 set $k1 role Rule", '@k6 set $k1 claim "Dogs are welcome."']
    await page.get_by_label("Text").fill("\n".join(lines))
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("is none of")
    await page.get_by_role("button", name="Line 5, column 18").click()
    place = await page.get_by_label("Text").evaluate("area => area.value.slice(area.selectionStart)")
    assert place.startswith("Rule")
    await page.get_by_label("Text").fill("\n".join(lines).replace("Rule", "Constraint"))
    await page.get_by_role("button", name="Add", exact=True).click()

    await expect(page.get_by_text("1 added.")).to_be_visible()
    await expect(page.get_by_role("button", name=re.compile("Dogs are welcome"))).to_be_visible()


async def test_a_base_is_mounted_looked_into_brought_up_to_date_and_unmounted(
    house: House, open_page: OpenPage
) -> None:
    base = await house.keeper.bases.create("Harbour")
    await house.keeper.bases.add_source(base.id, "rules.md", "# Rules\n\nDogs must be on a leash.\n", kind="markdown")
    session_id = await a_session_that_knows(house)
    page = await open_page(f"/sessions/{session_id}/knowledge")
    bases = page.get_by_role("region", name="Knowledge bases")

    await bases.get_by_label("Mount another base").select_option(base.id)
    await bases.get_by_role("button", name="Mount").click()
    await bases.get_by_role("button", name="Show what it knows").click()
    await expect(bases.get_by_text("Dogs must be on a leash.")).to_be_visible()
    await bases.get_by_role("button", name="rules.md").click()
    await expect(page.get_by_role("dialog")).to_contain_text("# Rules")
    await page.get_by_role("button", name="Close", exact=True).click()
    await house.keeper.bases.add_source(base.id, "more.txt", "Cats may stay.")
    await page.reload()
    await bases.get_by_role("button", name="Bring up to date").click()
    await expect(bases.get_by_text("changed since it was mounted")).to_be_hidden()
    await bases.get_by_role("button", name="Unmount").click()
    await page.get_by_role("dialog").get_by_role("button", name="Unmount").click()

    await expect(bases.get_by_text("No knowledge base is mounted")).to_be_visible()
    assert (await house.keeper.session(session_id)).mounts == ()


async def test_what_strangers_wrote_into_a_unit_is_shown_and_does_nothing(house: House, open_page: OpenPage) -> None:
    session_id = await a_session_that_knows(house, f"The harbour is {HOSTILE}.")
    page = await open_page(f"/sessions/{session_id}/knowledge?status=any", width=375, theme="dark")

    await page.get_by_role("button", name=re.compile("onerror")).first.click()

    await expect(page.get_by_role("complementary", name="Unit")).to_contain_text("onerror")
    assert await page.evaluate("window.hurt === undefined && document.querySelectorAll('img[src=x]').length === 0")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
