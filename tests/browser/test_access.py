"""Everyone can use every page: axe finds nothing serious, in both themes, on a desk and on a phone."""

from pathlib import Path

import pytest
from playwright.async_api import Page

from tests.browser.conftest import OpenPage
from tests.browser.house import House, settled
from tests.browser.world import fill

AXE = (Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")


@pytest.mark.parametrize("width", [1280, 375])
async def test_axe_finds_nothing_serious_on_any_page(house: House, open_page: OpenPage, width: int) -> None:
    world = await fill(house)
    page = await open_page(width=width)
    found: dict[str, list[str]] = {}

    for name, address in world.pages.items():
        await page.emulate_media(color_scheme="light")
        await page.goto(f"{house.url}/console{address}")
        await settled(page)
        await page.evaluate(AXE)
        light = await faults_of(page)
        await page.emulate_media(color_scheme="dark")
        dark = await faults_of(page)
        if told := [*light, *(f"in the dark {fault}" for fault in dark)]:
            found[name] = told
        if (wide := await page.evaluate("document.documentElement.scrollWidth")) > width:
            found[f"{name} is too wide"] = [str(wide)]

    assert found == {}


async def test_axe_finds_nothing_serious_at_the_door(house: House, open_page: OpenPage) -> None:
    page = await open_page()
    await page.get_by_role("button", name="Log out").click()
    await page.get_by_label("Token").wait_for()
    await page.evaluate(AXE)

    for width in (1280, 375):
        for theme in ("light", "dark"):
            await page.set_viewport_size({"width": width, "height": 800})
            await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            assert await faults_of(page) == []


async def faults_of(page: Page) -> list[str]:
    result = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for violation in result["violations"]
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]
