"""Everyone can use every page: axe finds nothing serious, in both themes, on a desk and on a phone."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.house import House, settled
from tests.browser.world import fill

AXE = (Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
async def test_axe_finds_nothing_serious_on_any_page(house: House, open_page: OpenPage, width: int, theme: str) -> None:
    world = await fill(house)
    page = await open_page(width=width, theme=theme)
    found: dict[str, Any] = {}

    for name, address in world.pages.items():
        await page.goto(f"{house.url}/console{address}")
        await settled(page)
        await page.evaluate(AXE)
        result = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        told = [
            f"{violation['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
            for violation in result["violations"]
            if violation["impact"] in SERIOUS
            for node in violation["nodes"]
        ]
        if told:
            found[name] = told
        wide = await page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            found[f"{name} is too wide"] = wide

    assert found == {}
