"""A browser for all tests of a worker, and a house of its own for each."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.browser.chromium import FLAGS, executable, surroundings
from tests.browser.house import TOKEN, House, a_house, come_in
from turnkeeper.server.console import FILES

HERE = Path(__file__).parent
PATIENCE_MS = 10_000
OpenPage = Callable[..., Awaitable[Page]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One loop for all of them: a browser belongs to the loop that started it."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    assert (FILES / "index.html").exists(), "The console is not built: python web/build_console.py"
    path = await asyncio.to_thread(executable)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, env={**surroundings()}, args=list(FLAGS))
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(tmp_path) as house:
        yield house


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Browser, house: House) -> AsyncIterator[OpenPage]:
    """Opens an address of the console as its owner unless another token is shown, each time as if on another device.

    What the page complains of, a breach of its policy too, fails the test.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    async def open_page(
        path: str = "/", *, width: int = 1280, height: int = 800, theme: str = "light", token: str = TOKEN
    ) -> Page:
        context = await browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = await context.new_page()
        page.on("pageerror", lambda error: complaints.append(f"{error}"))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        await come_in(page, house.url, path, token=token)
        return page

    yield open_page
    for context in contexts:
        await context.close()
    # What the server refuses is told on the page, and told by the browser on its own account as well.
    broken = [complaint for complaint in complaints if not complaint.startswith("Failed to load resource")]
    assert broken == []
