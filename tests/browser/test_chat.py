"""Talking in the console: live, resumed, on two pages, stopped, tried again and told otherwise."""

import re

from playwright.async_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House

ADDRESS = re.compile(r"/sessions/(sess_\w+)$")


async def say(page: Page, text: str) -> None:
    await page.get_by_role("textbox", name="Message").fill(text)
    await page.get_by_role("textbox", name="Message").press("Enter")


async def test_a_new_chat_gets_its_address_with_its_first_message_and_streams(
    house: House, open_page: OpenPage
) -> None:
    page = await open_page("/chat")
    await page.get_by_label("Agent").select_option("storyteller")

    await say(page, "Tell me a story")
    await house.gates.reached("half")

    await expect(page).to_have_url(ADDRESS)
    await expect(page.get_by_role("article", name="You said")).to_have_text(re.compile("Tell me a story"))
    await expect(page.get_by_role("article", name="storyteller said")).to_contain_text("Once upon a time")
    house.gates.open("half")
    answer = page.get_by_role("article", name="storyteller said")
    await expect(answer).to_contain_text("Once upon a time there was a lighthouse.")
    await expect(answer.get_by_role("link", name="Why")).to_be_visible()
    await expect(page.get_by_role("article")).to_have_count(2)


async def test_a_reload_in_mid_stream_shows_what_was_said_and_goes_on(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="storyteller")
    page = await open_page(f"/sessions/{session.id}")
    await say(page, "Tell me a story")
    await expect(page.get_by_role("article", name="storyteller said")).to_contain_text("Once upon a time")

    await page.reload()

    answer = page.get_by_role("article", name="storyteller said")
    await expect(answer).to_contain_text("Once upon a time")
    await expect(page.get_by_role("article", name="You said")).to_contain_text("Tell me a story")
    house.gates.open("half")
    await expect(answer).to_contain_text("Once upon a time there was a lighthouse.")
    await expect(page.get_by_role("article")).to_have_count(2)


async def test_two_pages_on_one_session_both_show_both_sides(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="storyteller")
    here, there = [await open_page(f"/sessions/{session.id}") for _ in range(2)]
    await expect(there.get_by_text("Nothing was said here yet")).to_be_visible()

    await say(here, "Tell me a story")

    for page in (here, there):
        await expect(page.get_by_role("article", name="You said")).to_contain_text("Tell me a story")
        await expect(page.get_by_role("article", name="storyteller said")).to_contain_text("Once upon a time")
    house.gates.open("half")
    await expect(there.get_by_role("article", name="storyteller said")).to_contain_text("lighthouse.")
    await say(there, "Another one")
    await expect(here.get_by_role("article", name="You said")).to_have_count(2)
    await expect(here.get_by_role("article", name="storyteller said").nth(1)).to_contain_text("lighthouse.")
    await expect(here.get_by_role("article")).to_have_count(4)


async def test_what_is_sent_without_a_network_is_there_once_when_it_is_back(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="parrot")
    page = await open_page(f"/sessions/{session.id}")
    await say(page, "one")
    await expect(page.get_by_role("link", name="Why", exact=True)).to_have_count(2)

    await page.context.set_offline(True)
    await say(page, "two")
    await expect(page.get_by_text("Reconnecting")).to_be_visible()
    await expect(page.get_by_text("Not sent yet")).to_be_visible()
    await house.keeper.chat("from elsewhere", session_id=session.id)
    async with page.expect_request("**/feed") as resumed:
        await page.context.set_offline(False)

    assert int((await resumed.value).headers["last-event-id"]) > 0
    await expect(page.get_by_text("Reconnecting")).to_be_hidden()
    await expect(page.get_by_role("article", name="parrot said").nth(2)).to_contain_text("You said: two")
    await expect(page.get_by_role("article", name="You said")).to_have_text(
        [re.compile("one"), re.compile("from elsewhere"), re.compile("two")]
    )
    assert len(await house.keeper.messages(session.id)) == 6


async def test_a_turn_is_stopped_and_tried_again(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="storyteller")
    page = await open_page(f"/sessions/{session.id}")
    await say(page, "Tell me a story")
    await expect(page.get_by_role("article", name="storyteller said")).to_contain_text("Once upon a time")

    await page.get_by_role("button", name="Stop").click()

    ended = page.get_by_role("region", name="A turn without an answer")
    await expect(ended).to_contain_text("This turn was stopped.")
    await expect(ended).to_contain_text("Nothing of the conversation was changed")
    house.gates.open("half")
    await ended.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("link", name="Why", exact=True)).to_have_count(2)
    await expect(page.get_by_role("article", name="storyteller said").last).to_contain_text("lighthouse.")
    assert (await house.keeper.session(session.id)).turns == 1


async def test_a_failed_turn_says_what_failed_and_leads_to_why(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="failing")
    page = await open_page(f"/sessions/{session.id}")

    await say(page, "Will it rain?")

    ended = page.get_by_role("region", name="A turn without an answer")
    await expect(ended).to_contain_text("This turn failed.")
    await expect(ended).to_contain_text("agent_failed in the step “Agent at work”")
    await expect(page.get_by_role("article", name="You said")).to_contain_text("Will it rain?")
    await ended.get_by_role("link", name="See why").click()
    await expect(page).to_have_url(re.compile(r"/why/run_\w+$"))


async def test_an_earlier_message_is_told_otherwise_in_a_fork(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="parrot")
    for text in ("one", "two"):
        await house.keeper.chat(text, session_id=session.id)
    page = await open_page(f"/sessions/{session.id}")

    await page.get_by_role("article", name="You said").nth(1).get_by_role("button", name="Edit in a fork").click()
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("two")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("")
    await page.get_by_role("textbox", name="Message").press("ArrowUp")
    await page.get_by_role("textbox", name="Message").fill("three")
    await page.get_by_role("button", name="Send in a fork").click()

    await expect(page.get_by_role("article", name="parrot said").last).to_contain_text("You said: three")
    await expect(page.get_by_role("article", name="You said")).to_have_text([re.compile("one"), re.compile("three")])
    assert session.id not in page.url
    await expect(page.get_by_text("a fork of another session, from turn 1 on")).to_be_visible()
    inherited = page.get_by_role("article", name="parrot said").first
    await expect(inherited).to_contain_text("You said: one")
    await expect(inherited.get_by_role("link", name="Why")).to_have_attribute(
        "href", re.compile(f"{session.id}/why/run_")
    )
    assert [message.content for message in await house.keeper.messages(session.id)][::2] == ["one", "two"]


async def test_whoever_is_at_the_end_sees_what_is_said_elsewhere(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="parrot")
    for number in range(12):
        await house.keeper.chat(f"number {number}", session_id=session.id)
    page = await open_page(f"/sessions/{session.id}", height=500)
    conversation = page.get_by_role("region", name="Conversation")
    await expect(conversation.get_by_text("You said: number 11")).to_be_in_viewport()

    for number in range(12, 15):
        await house.keeper.chat(f"number {number}", session_id=session.id)
        await expect(conversation.get_by_text(f"You said: number {number}")).to_be_in_viewport()
