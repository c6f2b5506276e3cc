"""Whatever people and programs name and write is shown inert and intact, on every page and not in the chat alone."""

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House, settled
from turnkeeper.errors import RunEnded

WIDTHS = (375, 1280)
HUGE = "w" * 3_000
BEGINNING = 100
"""No more is told of what was said to a run that failed. What a tool is called with is JSON, with its escapes."""


def hostile(what: str) -> str:
    """A script, Markdown, what goes from right to left, what steers a terminal, and a word wider than a phone."""
    markup = f"<script>harmed=1</script><img src=x onerror='harmed=2'> **{what}** [a](javascript:harmed=3)"
    return f"{markup} \u202egnol\u202c שלום \x1b[31m\x07 {'w' * 60}"


TITLE, UNIT, SAID, DECIDED, CLOSED, KEY, NAME = map(
    hostile, ("title", "unit", "said", "decided", "closed", "key", "name")
)
CONTENT = f"{hostile('content')}\n{HUGE}"


async def filled(house: House) -> dict[str, tuple[str, ...]]:
    """By the address of a page, what is to be read on it."""
    keeper = house.keeper
    session = await keeper.create_session(agent="clerk", title=TITLE)
    await keeper.units.import_text(session.id, f"The harbour is {UNIT}.")
    run = await keeper.chat(SAID, session_id=session.id)
    (approval,) = await keeper.approvals.list()
    await keeper.approvals.decide(approval.id, approve=False, reason=DECIDED)
    async for _ in keeper.follow(await keeper.run(run.run_id)):
        pass
    await keeper.chat(SAID, session_id=session.id)
    with pytest.raises(RunEnded) as failed:
        await keeper.chat(f"{SAID} {HUGE}", agent="failing")
    closed = await keeper.create_session(title=TITLE)
    await keeper.close_session(closed.id, reason=CLOSED)
    await keeper.keys.create(KEY)
    kept = await keeper.artifacts.keep(CONTENT.encode(), media_type="text/html", name=NAME)
    # The name of a file is kept without its folders and without what steers.
    name = str(kept.name)
    assert "onerror" in name
    return {
        "/": (TITLE,),
        "/sessions": (TITLE,),
        f"/sessions/{session.id}/knowledge": (TITLE, UNIT),
        f"/sessions/{session.id}/why/{run.run_id}": (TITLE, SAID),
        f"/sessions/{failed.value.run.session_id}/why/{failed.value.run.id}": (SAID[:BEGINNING],),
        f"/sessions/{closed.id}/history": (TITLE, CLOSED),
        "/approvals": (TITLE, SAID[:BEGINNING], DECIDED),
        "/artifacts": (name,),
        f"/artifacts?artifact={kept.id}": (name, CONTENT),
        "/keys": (KEY,),
        "/operate": (TITLE, SAID),
    }


async def test_names_reasons_units_and_files_are_words_and_stay_within_the_page(
    house: House, open_page: OpenPage
) -> None:
    pages = await filled(house)
    page = await open_page("/")

    for address, texts in pages.items():
        await page.goto(f"{house.url}/console{address}")
        await settled(page)
        for text in texts:
            await expect(page.locator("main")).to_contain_text(text[:BEGINNING])
            assert text in await page.locator("main").evaluate("main => main.textContent"), address
        assert await is_unharmed(page), address
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 800})
            assert await page.evaluate(WIDEST) <= width, (address, width)


WIDEST = "Math.max(document.documentElement.scrollWidth, document.querySelector('main').scrollWidth)"


async def is_unharmed(page: Page) -> bool:
    planted = "main :is(script, img[src=x], a[href^='javascript:'])"
    return bool(await page.evaluate(f'typeof harmed === "undefined" && document.querySelector("{planted}") === null'))
