"""Finding a session again, going back to where one was, and what can be done with it."""

import io
import zipfile
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House
from turnkeeper.errors import RunEnded


async def a_topic(house: House, said: str, *, title: str | None = None) -> str:
    session = await house.keeper.create_session(title=title)
    return (await house.keeper.chat(said, session_id=session.id)).session_id


def rows(page: Page) -> Any:
    return page.get_by_role("list", name="Sessions").get_by_role("listitem")


async def test_sessions_are_found_by_their_words_and_their_status_and_the_search_is_a_link(
    house: House, open_page: OpenPage
) -> None:
    await a_topic(house, "The heating is broken")
    await a_topic(house, "A table for four", title="Dinner on Friday")
    finished = await a_topic(house, "Where is my parcel?")
    await house.keeper.close_session(finished)
    page = await open_page("/sessions")

    await expect(rows(page)).to_have_count(3)
    await expect(rows(page).first).to_contain_text("Where is my parcel?")
    await page.get_by_label("Search in titles").fill("heating")
    await expect(rows(page)).to_have_count(1)
    await page.get_by_label("Search in titles").fill("")
    await page.get_by_label("Status").select_option("closed")
    await expect(rows(page)).to_have_count(1)
    await expect(rows(page)).to_contain_text("Where is my parcel?")
    another = await open_page(f"/sessions{page.url.partition('/sessions')[2]}")
    await expect(rows(another)).to_have_count(1)
    await another.get_by_label("Search in titles").fill("nothing like it")
    await expect(another.get_by_text("No session matches")).to_be_visible()


async def test_a_session_is_renamed_paused_resumed_and_closed(house: House, open_page: OpenPage) -> None:
    id = await a_topic(house, "Hello")
    page = await open_page(f"/sessions/{id}")

    await page.get_by_role("button", name="Rename").click()
    await page.get_by_label("Title").fill("A first talk")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name="A first talk")).to_be_visible()
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("paused", exact=True).first).to_be_visible()
    await page.get_by_role("button", name="Resume", exact=True).click()
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Close …").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert (await house.keeper.session(id)).status == "active"
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Close …").click()
    await page.get_by_role("button", name="Close the session").click()
    await page.get_by_role("button", name="Continue in a new session").click()
    await page.wait_for_url(lambda url: id not in url)

    assert (await house.keeper.session(id)).status == "closed"
    assert (await house.keeper.session(page.url.rpartition("/")[2])).from_session_id == id


async def test_a_session_whose_first_turn_failed_bears_what_was_said_wherever_it_is_named(
    house: House, open_page: OpenPage
) -> None:
    with pytest.raises(RunEnded) as ended:
        await house.keeper.chat("Is it cold at the pier?", agent="failing")
    page = await open_page("/sessions")

    await rows(page).get_by_role("link", name="Is it cold at the pier?").click()

    await expect(page.get_by_role("heading", name="Is it cold at the pier?")).to_be_visible()
    assert ended.value.run.session_id in page.url


async def test_after_a_reset_the_header_and_the_list_bear_the_same_name(house: House, open_page: OpenPage) -> None:
    id = await a_topic(house, "The heating is broken")
    await house.keeper.chat("/reset", session_id=id)
    await house.keeper.chat("A table for four", session_id=id)
    page = await open_page("/sessions")

    await rows(page).get_by_role("link", name="A table for four").click()

    await expect(page.get_by_role("heading", name="A table for four")).to_be_visible()


async def test_on_a_phone_the_open_tab_is_in_sight_and_a_viewer_is_not_asked_to_rename(
    house: House, open_page: OpenPage
) -> None:
    viewer = await house.keeper.keys.create("wall", role="viewer")
    id = await a_topic(house, "Hello")
    page = await open_page(f"/sessions/{id}/history", width=375, token=viewer.token)

    await expect(page.get_by_role("heading", name="Hello")).to_be_visible()
    await expect(page.get_by_role("button", name="Rename")).to_have_count(0)
    history = page.get_by_role("navigation", name="Session").get_by_role("link", name="History")
    await expect(history).to_be_in_viewport(ratio=1)


async def test_a_session_tells_how_long_it_still_lasts(house: House, open_page: OpenPage) -> None:
    id = await a_topic(house, "Hello")
    page = await open_page(f"/sessions/{id}")

    await expect(page.get_by_text("expires in 23 h")).to_be_visible()


async def test_whoever_comes_back_on_another_device_finds_the_view_that_was_open(
    house: House, open_page: OpenPage
) -> None:
    id = await a_topic(house, "The heating is broken")
    page = await open_page(f"/sessions/{id}")
    async with page.expect_response(lambda response: response.url.endswith("/layout") and response.ok):
        await page.get_by_role("navigation", name="Session").get_by_role("link", name="History").click()

    another = await open_page("/sessions")
    await another.get_by_role("link", name="The heating is broken").click()

    await expect(another.get_by_role("heading", name="History")).to_be_visible()


async def test_a_fork_is_drawn_in_the_tree_of_its_family(house: House, open_page: OpenPage) -> None:
    id = await a_topic(house, "Hello", title="The trunk")
    page = await open_page(f"/sessions/{id}")

    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Fork from here").click()
    await page.wait_for_url(lambda url: id not in url)
    fork = page.url.rpartition("/")[2]
    await page.get_by_role("link", name="History").click()
    forks = page.get_by_role("region", name="Forks")
    await expect(forks.get_by_text("after turn 1")).to_be_visible()
    await forks.get_by_role("link", name="The trunk").click()

    await expect(page.get_by_role("heading", name="The trunk")).to_be_visible()
    assert (await house.keeper.session(fork)).fork is not None


async def test_everything_of_a_session_can_be_taken_along(house: House, open_page: OpenPage) -> None:
    id = await a_topic(house, "Words to take along")
    page = await open_page(f"/sessions/{id}")

    await page.get_by_role("button", name="More").click()
    async with page.expect_download() as coming:
        await page.get_by_role("button", name="Export everything").click()
    archive = (await (await coming.value).path()).read_bytes()

    with zipfile.ZipFile(io.BytesIO(archive)) as taken:
        assert any("Words to take along" in taken.read(name).decode(errors="replace") for name in taken.namelist())


async def test_an_erased_session_is_gone_once_that_was_confirmed(house: House, open_page: OpenPage) -> None:
    id = await a_topic(house, "Forget this")
    page = await open_page(f"/sessions/{id}")

    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Erase …").click()
    await page.get_by_role("button", name="Erase for good").click()

    await expect(page.get_by_text("No sessions yet")).to_be_visible()
