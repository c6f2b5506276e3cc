"""Whatever is said is shown inert and intact."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House

SCRIPT = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'><svg onload=window.harmed=3>"
LINKS = (
    "[one](javascript:window.harmed=4) [two](data:text/html,<script>window.harmed=5</script>) "
    "[three](https://example.com/a) [four](vbscript:x) [five](/console/keys) <javascript:alert(1)> "
    "![six](https://example.com/spy.png) ![seven](javascript:window.harmed=6)"
)
ODD = "\u202eright to left\u202c שלום עולם مرحبا 👩‍👩‍👧‍👦 z̷̛a̶l̷g̸o \u0007\u001b[31mred\u001b[0m \u200bzero \ufeffbom"
HUGE = "w" * 30_000
LONG = "\n\n".join(f"{number}. " + "a sentence of many words " * 20 for number in range(220))


async def told(house: House, open_page: OpenPage, text: str, *, width: int = 1280) -> tuple[Page, str]:
    """A session in which somebody said this, and the agent said it back."""
    session = await house.keeper.create_session(agent="markdown")
    await house.keeper.chat(text, session_id=session.id)
    return await open_page(f"/sessions/{session.id}", width=width), session.id


async def is_unharmed(page: Page) -> bool:
    return bool(await page.evaluate("window.harmed === undefined && document.scripts.length <= 2"))


async def test_scripts_and_html_are_words(house: House, open_page: OpenPage) -> None:
    page, _ = await told(house, open_page, SCRIPT)

    for who in ("You said", "markdown said"):
        await expect(page.get_by_role("article", name=who)).to_contain_text(SCRIPT)
    assert await is_unharmed(page)
    assert await page.locator("article img, article svg:not(.lucide), article script").count() == 0


async def test_links_lead_away_safely_or_nowhere_and_no_picture_is_fetched(house: House, open_page: OpenPage) -> None:
    asked: list[str] = []
    page, _ = await told(house, open_page, LINKS)
    page.on("request", lambda request: asked.append(request.url))
    answer = page.get_by_role("article", name="markdown said")

    await expect(answer).to_contain_text("one two three four five")
    links = answer.locator("a[target=_blank]")
    assert [await link.get_attribute("href") for link in await links.all()] == [
        "https://example.com/a",
        "https://example.com/spy.png",
    ]
    assert {await link.get_attribute("rel") for link in await links.all()} == {"noopener noreferrer"}
    await page.reload()
    await expect(answer.get_by_role("link", name="Image: six")).to_be_visible()
    assert [url for url in asked if "example.com" in url] == []
    assert await is_unharmed(page)


async def test_odd_characters_are_kept_as_they_are(house: House, open_page: OpenPage) -> None:
    page, _ = await told(house, open_page, ODD)

    said = page.get_by_role("article", name="You said").locator("div").first
    await expect(said).to_be_visible()
    assert await said.evaluate("node => node.textContent") == ODD
    answer = await page.get_by_role("article", name="markdown said").locator("p").first.evaluate("it => it.textContent")
    assert answer == ODD


@pytest.mark.parametrize("width", [375, 1280])
async def test_a_huge_word_stays_within_the_page(house: House, open_page: OpenPage, width: int) -> None:
    page, _ = await told(house, open_page, f"| a | b |\n|---|---|\n| {HUGE} | `{HUGE}` |\n", width=width)

    await expect(page.get_by_role("article").last).to_be_visible()

    assert await page.evaluate("document.documentElement.scrollWidth") == width


async def test_a_message_of_a_hundred_kilobytes_is_whole_and_only_drawn_where_it_is_seen(
    house: House, open_page: OpenPage
) -> None:
    page, session_id = await told(house, open_page, LONG)
    assert len(LONG) > 100_000

    await expect(page.get_by_text(re.compile("^a sentence of many words")).last).to_be_visible()
    assert len(await page.locator("main").inner_text()) < 40_000
    await page.get_by_role("region", name="Conversation").evaluate("box => { box.scrollTop = 0 }")
    await expect(page.get_by_role("article", name="You said").first).to_contain_text("0. a sentence")
    await page.get_by_role("button", name="Newest").click()
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy the answer").last.click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == LONG
    assert [len(each.content) for each in await house.keeper.messages(session_id)] == [len(LONG)] * 2
