"""Opens the large pages in a browser and moves about on them, as a person does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from bench.console.house import TOKEN, Full
from bench.console.tracing import CATEGORIES, Tasks, tasks_of
from tests.browser.chromium import FLAGS, executable, surroundings

WHEELS = 40
WHEEL_PX = 600
FRAME = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"


class NothingMoved(Exception):
    """A page that stands still is smooth for the wrong reason."""


@dataclass(slots=True)
class Measured:
    """Bytes of the first load as they travelled, and the tasks of each page while it opened and while it moved."""

    first_load_bytes: int = 0
    opened: dict[str, Tasks] = field(default_factory=dict)
    moved: dict[str, Tasks] = field(default_factory=dict)


async def measure(full: Full) -> Measured:
    measured = Measured()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable(), env={**surroundings()}, args=list(FLAGS)
        )
        measured.first_load_bytes = await first_load(browser, full)
        for name, (address, ready, move) in PAGES.items():
            context, page = await _logged_in(browser, full)
            opening = _open(page, f"{full.url}/console{address(full)}", ready)
            measured.opened[name] = await _traced(browser, page, opening)
            measured.moved[name] = await _traced(browser, page, move(page))
            await context.close()
        await browser.close()
    return measured


async def first_load(browser: Browser, full: Full) -> int:
    """Everything that an empty browser fetches until the first page is drawn, as it travelled."""
    context = await browser.new_context()
    page = await context.new_page()
    devtools = await context.new_cdp_session(page)
    await devtools.send("Network.enable")
    received: list[int] = []
    devtools.on("Network.loadingFinished", lambda event: received.append(int(event["encodedDataLength"])))
    await page.goto(f"{full.url}/#token={TOKEN}")
    await page.locator("main h1").first.wait_for()
    await page.wait_for_load_state("networkidle")
    await context.close()
    return sum(received)


async def _logged_in(browser: Browser, full: Full) -> tuple[BrowserContext, Page]:
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    await page.goto(f"{full.url}/#token={TOKEN}")
    await page.locator("main h1").first.wait_for()
    return context, page


async def _open(page: Page, url: str, ready: str) -> None:
    await page.goto(url)
    await page.locator(ready).first.wait_for()
    await _frames(page, 30)


async def _traced(browser: Browser, page: Page, work: Awaitable[None]) -> Tasks:
    await browser.start_tracing(page=page, categories=CATEGORIES)
    await work
    return tasks_of(await browser.stop_tracing())


async def _frames(page: Page, count: int) -> None:
    for _ in range(count):
        await page.evaluate(FRAME)


async def _scroll_up(page: Page) -> None:
    await _wheel(page, -WHEEL_PX)


async def _scroll_down(page: Page) -> None:
    await _wheel(page, WHEEL_PX)


async def _wheel(page: Page, by: int) -> None:
    before = await page.locator("main").inner_text()
    await page.mouse.move(640, 500)
    for _ in range(WHEELS):
        await page.mouse.wheel(0, by)
        await _frames(page, 3)
    if await page.locator("main").inner_text() == before:
        raise NothingMoved(page.url)


async def _walk_the_graph(page: Page) -> None:
    """Zooms in until every node is drawn, pans, and zooms out again."""
    graph = page.locator("main .react-flow")
    await graph.scroll_into_view_if_needed()
    box = await graph.bounding_box()
    if box is None:
        raise NothingMoved(page.url)
    x, y = box["x"] + box["width"] / 2, box["y"] + min(box["height"], 400) / 2
    before = await page.locator(".react-flow__viewport").get_attribute("style")
    await page.mouse.move(x, y)
    for step in range(WHEELS):
        await page.keyboard.down("Control")
        await page.mouse.wheel(0, -200 if step < WHEELS // 2 else 200)
        await page.keyboard.up("Control")
        await page.mouse.down()
        await page.mouse.move(x + 20 * (step % 8), y - 10 * (step % 8), steps=3)
        await page.mouse.up()
        await _frames(page, 2)
    if await page.locator(".react-flow__viewport").get_attribute("style") == before:
        raise NothingMoved(page.url)


Address = Callable[[Full], str]
Move = Callable[[Page], Awaitable[None]]
PAGES: dict[str, tuple[Address, str, Move]] = {
    "session": (lambda full: f"/sessions/{full.long_session}", "main article", _scroll_up),
    "list": (lambda full: "/sessions", "ul[aria-label=Sessions] li", _scroll_down),
    "graph": (lambda full: f"/sessions/{full.graph_session}/why/{full.graph_run}", "main .react-flow", _walk_the_graph),
}
