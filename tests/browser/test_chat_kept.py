"""What is written in the console gets where it was meant to, once, and what is refused comes back whole."""

import re

from playwright.async_api import Locator, Page, Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House
from turnkeeper import Principal, Role

LONG = "\n\n".join(f"{number}. " + "a sentence of many words " * 20 for number in range(60))
REFUSAL = {"code": "rate_limited", "title": "Too many requests", "detail": "Wait a moment.", "retryable": True}


def field_of(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message")


async def say(page: Page, text: str) -> None:
    await field_of(page).fill(text)
    await field_of(page).press("Enter")


async def attach(page: Page, name: str) -> None:
    await page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/plain", "buffer": b"Soup"})
    await expect(page.get_by_text("on its way")).to_have_count(0)


async def users_words(house: House, session_id: str) -> list[str]:
    return [message.content for message in await house.keeper.messages(session_id) if message.role == "user"]


async def test_what_is_sent_without_a_network_is_sent_once_though_its_page_is_left_or_reloaded(
    house: House, open_page: OpenPage
) -> None:
    session = await house.keeper.create_session(agent="parrot")
    page = await open_page(f"/sessions/{session.id}/knowledge")
    tabs = page.get_by_role("navigation", name="Session")
    await tabs.get_by_role("link", name="Chat").click()
    await expect(field_of(page)).to_be_visible()

    await page.context.set_offline(True)
    await say(page, "one")
    await expect(page.get_by_text("Not sent yet")).to_be_visible()
    await tabs.get_by_role("link", name="Knowledge").click()
    await expect(field_of(page)).to_have_count(0)
    async with page.expect_response("**/api/v1/chat"):
        await page.context.set_offline(False)
    await tabs.get_by_role("link", name="Chat").click()
    await expect(page.get_by_role("article", name="parrot said")).to_contain_text("You said: one")
    await expect(page.get_by_role("article", name="You said")).to_have_count(1)

    await page.route("**/api/v1/chat", lambda route: route.abort())
    await say(page, "two")
    await expect(page.get_by_text("Not sent yet")).to_be_visible()
    await page.unroute("**/api/v1/chat")
    await page.reload()
    await expect(page.get_by_role("article", name="parrot said").last).to_contain_text("You said: two")
    assert await users_words(house, session.id) == ["one", "two"]


async def test_what_the_server_took_is_neither_sent_again_nor_called_refused(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="parrot")
    page = await open_page(f"/sessions/{session.id}")

    async def lose_the_answer(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await page.route("**/api/v1/chat", lose_the_answer, times=1)
    await say(page, "one")
    await expect(page.locator(".unseen[aria-live=polite]")).to_have_text("You said: one")
    await page.evaluate("window.dispatchEvent(new Event('online'))")
    await expect(page.get_by_text("Not sent yet")).to_have_count(0)

    await page.route("**/api/v1/runs/run_*", lambda route: route.abort(), times=1)
    await say(page, "two")
    await expect(page.get_by_role("article", name="parrot said").last).to_contain_text("You said: two")
    await expect(field_of(page)).to_have_value("")
    await expect(page.get_by_role("alert")).to_have_count(0)
    assert await users_words(house, session.id) == ["one", "two"]


async def test_a_draft_and_all_files_outlive_an_edit_whose_fork_is_made_once(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="parrot")
    page = await open_page(f"/sessions/{session.id}")
    await attach(page, "menu.txt")
    await say(page, "one")
    await expect(page.get_by_role("link", name="Why", exact=True)).to_have_count(2)
    chosen = page.get_by_role("list", name="To be attached")
    async with page.expect_request(lambda asked: asked.method == "PUT" and "half a" in (asked.post_data or "")):
        await field_of(page).fill("half a thought")
    await attach(page, "draft.txt")

    await page.get_by_role("button", name="Edit in a fork").click()
    await expect(field_of(page)).to_have_value("one")
    await expect(chosen).to_contain_text("menu.txt")
    await expect(chosen).not_to_contain_text("draft.txt")
    await page.get_by_role("button", name="Do not edit").click()
    await expect(field_of(page)).to_have_value("half a thought")
    await expect(chosen).to_contain_text("draft.txt")
    await expect(chosen).not_to_contain_text("menu.txt")

    await page.get_by_role("button", name="Edit in a fork").click()
    await page.route("**/api/v1/chat", lambda route: route.fulfill(status=429, json=REFUSAL), times=1)
    await say(page, "two")
    await expect(page.get_by_role("alert")).to_contain_text("Wait a moment.")
    await expect(field_of(page)).to_have_value("two")
    await page.get_by_role("button", name="Send in a fork").click()
    await expect(page.get_by_role("article", name="parrot said")).to_contain_text("You said: two")
    await expect(page.get_by_role("article", name="You said").get_by_role("button")).to_contain_text(["menu.txt"])
    assert len(await house.keeper.sessions()) == 2
    await page.go_back()
    await expect(page.get_by_role("article", name="parrot said")).to_contain_text("You said: one")
    await expect(field_of(page)).to_have_value("half a thought")


async def test_the_first_message_after_a_reset_is_edited_without_what_was_before(
    house: House, open_page: OpenPage
) -> None:
    session = await house.keeper.create_session(agent="parrot")
    await house.keeper.chat("before", session_id=session.id)
    await house.keeper.reset(session.id)
    for text in ("after", "later"):
        await house.keeper.chat(text, session_id=session.id)
    page = await open_page(f"/sessions/{session.id}")

    await page.get_by_role("button", name="Edit in a fork").first.click()
    await say(page, "otherwise")

    await expect(page.get_by_role("article", name="parrot said")).to_contain_text(["You said: otherwise"])
    forked = (await house.keeper.sessions())[0]
    assert [(each.content, each.epoch) for each in await house.keeper.messages(forked.id) if each.role == "user"] == [
        ("before", 1),
        ("otherwise", 2),
    ]


async def test_a_refused_message_comes_back_with_its_files_and_a_failed_one_is_tried_again_with_them(
    house: House, open_page: OpenPage
) -> None:
    session = await house.keeper.create_session(agent="failing")
    page = await open_page(f"/sessions/{session.id}")
    await attach(page, "menu.txt")
    await page.route("**/api/v1/chat", lambda route: route.fulfill(status=429, json=REFUSAL), times=1)
    await say(page, "What is this?")
    await expect(page.get_by_role("alert")).to_contain_text("Wait a moment.")
    await expect(page.get_by_role("list", name="To be attached")).to_contain_text("menu.txt")
    await field_of(page).press("Enter")
    ended = page.get_by_role("region", name="A turn without an answer")
    await expect(ended).to_contain_text("This turn failed.")
    await expect(page.get_by_role("list", name="To be attached")).to_have_count(0)

    async with page.expect_request("**/api/v1/chat") as asked:
        await ended.get_by_role("button", name="Try again").click()

    sent = (await asked.value).post_data_json
    assert sent is not None
    assert (sent["message"], len(sent["attachments"])) == ("What is this?", 1)


async def test_a_message_for_a_session_that_is_over_by_now_begins_no_other(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="parrot")
    await house.keeper.chat("Hello", session_id=session.id)
    page = await open_page(f"/sessions/{session.id}")
    await page.context.set_offline(True)
    await say(page, "Are you still there?")
    await expect(page.get_by_text("Not sent yet")).to_be_visible()
    await house.keeper.close_session(session.id)
    async with page.expect_response("**/api/v1/chat") as answer:
        await page.context.set_offline(False)

    assert (await answer.value).status == 410
    assert '"on_missing":"error"' in ((await answer.value).request.post_data or "")
    await expect(page.get_by_text("This session is closed")).to_be_visible()
    await expect(page.get_by_role("alert")).to_contain_text("Are you still there?")
    assert len(await house.keeper.sessions()) == 1


async def test_whoever_sends_a_message_sees_it(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="markdown")
    await house.keeper.chat(LONG, session_id=session.id)
    page = await open_page(f"/sessions/{session.id}")
    box = page.get_by_role("region", name="Conversation")
    await box.evaluate("box => { box.scrollTop = 0 }")
    await expect(page.get_by_role("button", name="Newest")).to_be_visible()

    await say(page, "short")
    await expect(page.get_by_role("article", name="markdown said").last).to_be_in_viewport()
    await expect(page.get_by_role("article", name="You said").last).to_be_in_viewport()
    await say(page, "tall\n" * 30 + "end")
    await expect(page.get_by_role("article", name="You said").last).to_contain_text("end")
    await expect(page.get_by_role("button", name="Newest")).to_be_hidden()


async def test_whoever_may_only_read_is_told_so_and_offered_nothing_else(house: House, open_page: OpenPage) -> None:
    viewer = await house.keeper.keys.create("eye", user="mia", role="viewer")
    mia = Principal(tenant=viewer.key.tenant, user=viewer.key.user, role=Role.MEMBER)
    told = await house.keeper.chat("Hello", agent="parrot", principal=mia)
    page = await open_page(f"/sessions/{told.session_id}", token=viewer.token)

    await expect(page.get_by_role("article", name="parrot said")).to_contain_text("You said: Hello")
    await expect(page.get_by_text("You may read here, but not write: you are viewer")).to_be_visible()
    await expect(field_of(page)).to_have_count(0)
    for name in ("Edit in a fork", re.compile("Reset")):
        await expect(page.get_by_role("main").get_by_role("button", name=name)).to_have_count(0)
    await page.goto(f"{house.url}/console/chat")
    await expect(page.get_by_text("You may read here, but not write")).to_be_visible()
    await expect(field_of(page)).to_have_count(0)
