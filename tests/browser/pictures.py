"""Takes a picture of every page of the console for the manual: `python -m tests.browser.pictures [names]`."""

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

from tests.browser.chromium import FLAGS, executable, surroundings
from tests.browser.house import a_house, come_in, settled
from tests.browser.world import fill

INTO = Path(__file__).parents[2] / "docs" / "images" / "console"
LOOKS = {"desktop": (1280, 800, "light"), "phone": (375, 760, "dark")}
ALL_LOOKS = {f"{width}-{theme}": (width, 800, theme) for width in (1280, 375) for theme in ("light", "dark")}


async def take(into: Path, looks: dict[str, tuple[int, int, str]], names: list[str]) -> None:
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with a_house(Path(folder)) as house, async_playwright() as playwright:
            pages = (await fill(house)).pages
            browser = await playwright.chromium.launch(
                executable_path=executable(), env={**surroundings()}, args=list(FLAGS)
            )
            for look, (width, height, theme) in looks.items():
                page = await _page(browser, width, height, theme)
                await page.goto(f"{house.url}/console/")
                await page.get_by_label("Token").wait_for()
                if not names or "door" in names:
                    await page.screenshot(path=into / f"door-{look}.png")
                await page.goto("about:blank")
                await come_in(page, house.url)
                for name, address in pages.items():
                    if names and name not in names:
                        continue
                    await page.goto(f"{house.url}/console{address}")
                    await settled(page)
                    await page.screenshot(path=into / f"{name}-{look}.png")
            await browser.close()


async def _page(browser: Browser, width: int, height: int, theme: str) -> Page:
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
    )
    return await context.new_page()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--all-into"]:
        asyncio.run(take(Path(arguments[1]), ALL_LOOKS, arguments[2:]))
    else:
        asyncio.run(take(INTO, LOOKS, arguments))
