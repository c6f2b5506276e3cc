"""What surrounds talking: forms, questions, approvals, files, other policies, resets and the end of a session."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.async_api import Page, Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House
from turnkeeper.packs.demos import demo_packs

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360f8cf50000000040001"
    "5bb2ce2d0000000049454e44ae426082"
)


async def say(page: Page, text: str) -> None:
    await page.get_by_role("textbox", name="Message").fill(text)
    await page.get_by_role("textbox", name="Message").press("Enter")


async def about_to_expire(route: Route) -> None:
    """Tells a session as it was just before its time was over, however long the page takes to open."""
    told = await route.fetch()
    soon = datetime.now(UTC) + timedelta(seconds=0.2)
    await route.fulfill(response=told, json={**await told.json(), "status": "active", "expires_at": soon.isoformat()})


async def test_files_go_with_a_message_and_are_shown_with_it(house: House, open_page: OpenPage, tmp_path: Path) -> None:
    (tmp_path / "tide.png").write_bytes(PIXEL)
    (tmp_path / "notes.txt").write_text("High water at six.")
    session = await house.keeper.create_session(agent="parrot")
    page = await open_page(f"/sessions/{session.id}")

    await page.get_by_label("Files to attach").set_input_files([tmp_path / "tide.png", tmp_path / "notes.txt"])
    chosen = page.get_by_role("list", name="To be attached")
    await expect(chosen).to_contain_text("18 B")
    await say(page, "Look at these")

    said = page.get_by_role("article", name="You said")
    await expect(said.get_by_role("img", name="tide.png")).to_be_visible()
    await expect(said.get_by_role("button", name=re.compile("notes.txt"))).to_contain_text("18 B")
    assert (await said.get_by_role("img").get_attribute("src") or "").startswith("blob:")
    (message, *_) = await house.keeper.messages(session.id)
    assert message.event is not None
    assert [each["media_type"] for each in message.event["attachments"]] == ["image/png", "text/plain"]


async def test_a_form_beside_the_chat_answers_what_an_intent_misses(house: House, open_page: OpenPage) -> None:
    await house.keeper.packs.push(demo_packs()["table-booking"])
    page = await open_page("/chat")
    await page.get_by_label("Pack").select_option("table-booking@1.0.0")
    await say(page, "I want to book a table for four")

    beside = page.get_by_role("complementary", name="Intent and agent")
    await expect(beside).to_contain_text("BOOK_TABLE")
    await expect(beside).to_contain_text("locked")
    await beside.get_by_label("Date", exact=True).fill("2030-05-17")
    await beside.get_by_label("Time", exact=True).fill("19:30")
    await beside.get_by_label("Name", exact=True).fill("Ada Lovelace")
    await beside.get_by_label("Phone number").fill("+44 20 7946 0018")
    await beside.get_by_role("button", name="Answer").click()

    await expect(beside.get_by_text("not locked")).to_be_visible()
    await expect(beside.get_by_text("2030-05-17")).to_be_visible()
    await expect(page.get_by_role("article", name=re.compile("said$")).last).to_contain_text("Shall I book it?")


async def test_a_question_is_answered_by_the_next_message(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="asking")
    page = await open_page(f"/sessions/{session.id}")
    await say(page, "A table please")
    await expect(page.get_by_text("asking waits for your answer")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("For how many?").first).to_be_visible()

    await page.get_by_role("textbox", name="Message").fill("six")
    await page.get_by_role("button", name="Answer").click()

    await expect(page.get_by_role("article", name="asking said").last).to_contain_text("A table for six.")
    await expect(page.get_by_role("article", name="You said")).to_have_text(
        [re.compile("A table please"), re.compile("six")]
    )


async def test_whoever_is_asked_may_say_something_else_instead(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="asking")
    page = await open_page(f"/sessions/{session.id}")
    await say(page, "A table please")

    await page.get_by_role("button", name="Say something else instead").click()
    await say(page, "Never mind, two tables")

    await expect(page.get_by_text("asking asks:")).to_have_count(2)


async def test_an_approval_is_given_in_its_place(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="clerk")
    page = await open_page(f"/sessions/{session.id}")
    await say(page, "Moved to Hull")

    asked = page.get_by_role("region", name="Approval of connector.crm.write")
    await expect(asked).to_contain_text("Moved to Hull")
    await asked.get_by_role("button", name="Approve").click()

    await expect(page.get_by_role("article", name="clerk said").last).to_contain_text("wrote 13")


async def test_a_second_message_waits_in_line_is_refused_or_interrupts(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="storyteller")
    page = await open_page(f"/sessions/{session.id}")
    await say(page, "Tell me a story")
    await expect(page.get_by_text("waits in line and is answered after it")).to_be_visible()

    await say(page, "And another")
    await expect(page.get_by_text("In line, place 1")).to_be_visible()
    await page.get_by_label("While it answers").select_option("reject")
    await expect(page.get_by_text("A message is refused until it is there")).to_be_visible()
    await say(page, "Now!")
    await expect(page.get_by_role("alert")).to_contain_text("session_busy")
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("Now!")
    await page.get_by_label("While it answers").select_option("interrupt")
    await expect(page.get_by_text("cuts it short")).to_be_visible()
    await page.get_by_role("textbox", name="Message").press("Enter")

    await expect(page.get_by_text("interrupted", exact=True)).to_be_visible()
    house.gates.open("half")
    await expect(page.get_by_role("article", name="storyteller said")).to_have_count(3)
    await expect(page.get_by_role("article", name="storyteller said").last).to_contain_text("lighthouse.")


async def test_a_second_message_takes_the_place_of_the_first_or_is_answered_with_it(
    house: House, open_page: OpenPage
) -> None:
    session = await house.keeper.create_session(agent="thinker")
    page = await open_page(f"/sessions/{session.id}")
    await say(page, "A table for two")
    await house.gates.reached("thought")
    await page.get_by_label("While it answers").select_option("rollback")
    await expect(page.get_by_text("stops it and takes its place")).to_be_visible()
    await say(page, "No, for three")
    await expect(page.get_by_text("superseded", exact=True)).to_be_visible()

    await page.get_by_label("While it answers").select_option("merge")
    await expect(page.get_by_text("both messages are answered as one")).to_be_visible()
    async with page.expect_response("**/api/v1/chat"):  # the server has it before the answer can begin
        await say(page, "By the window")
    house.gates.open("thought")

    answer = page.get_by_role("article", name="thinker said").last
    await expect(answer).to_contain_text("No, for three")
    await expect(answer).to_contain_text("By the window")
    assert [message.content for message in await house.keeper.messages(session.id) if message.role == "user"] == [
        "No, for three",
        "By the window",
    ]


async def test_a_message_in_a_paused_session_resumes_it(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="parrot")
    await house.keeper.chat("Hello", session_id=session.id)
    await house.keeper.pause_session(session.id)
    page = await open_page(f"/sessions/{session.id}")

    await expect(page.get_by_text("paused", exact=True).first).to_be_visible()
    await say(page, "Here I am")

    await expect(page.get_by_role("article", name="parrot said").last).to_contain_text("You said: Here I am")
    await expect(page.get_by_text("active", exact=True).first).to_be_visible()


async def test_a_file_that_cannot_be_sent_says_so_and_can_be_taken_away(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="parrot")
    page = await open_page(f"/sessions/{session.id}")
    await page.context.set_offline(True)
    await page.locator("input[type=file]").set_input_files(
        {"name": "menu.txt", "mimeType": "text/plain", "buffer": b"Soup"}
    )

    await expect(page.get_by_text("It did not get to the server")).to_be_visible()
    await page.get_by_role("textbox", name="Message").fill("With a file")
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await page.context.set_offline(False)
    await page.get_by_role("button", name="Take menu.txt away").click()
    await say(page, "Without a file then")

    await expect(page.get_by_role("article", name="parrot said").last).to_contain_text("Without a file then")


async def test_a_reset_is_confirmed_and_leaves_what_was_said_greyed_above_a_line(
    house: House, open_page: OpenPage
) -> None:
    session = await house.keeper.create_session(agent="parrot")
    await house.keeper.chat("before", session_id=session.id)
    page = await open_page(f"/sessions/{session.id}")

    await page.get_by_role("button", name="Reset").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Out of reach of every later answer")
    await page.get_by_role("dialog").get_by_role("button", name="Reset").click()

    await expect(page.get_by_text("Epoch 2 begins")).to_be_visible()
    await expect(page.get_by_role("button", name="Edit in a fork")).to_have_count(0)
    await say(page, "after")
    await expect(page.get_by_role("article", name="parrot said").last).to_contain_text("You said: after")
    await expect(page.get_by_text("Epoch 2 begins")).to_have_count(1)
    await expect(page.get_by_role("button", name="Edit in a fork")).to_have_count(1)


async def test_a_session_that_expires_while_it_is_open_turns_read_only_and_goes_on_in_a_new_one(
    house: House, open_page: OpenPage
) -> None:
    session = await house.keeper.create_session(agent="parrot", idle_for_seconds=1)
    await house.keeper.chat("Hello", session_id=session.id)
    page = await open_page("/chat")
    here = f"**/api/v1/sessions/{session.id}"
    await page.route(here, about_to_expire)
    await page.route("**/feed", lambda route: route.abort())  # nobody else tells the page that its time is over
    await page.goto(f"{house.url}/console/sessions/{session.id}")
    await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    await page.unroute(here)

    await expect(page.get_by_text("This session has expired")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Message")).to_have_count(0)
    await page.unroute("**/feed")
    await page.get_by_role("button", name="Continue in a new session").click()

    await expect(page).not_to_have_url(re.compile(session.id))
    await say(page, "Here again")
    await expect(page.get_by_role("article", name="parrot said").last).to_contain_text("You said: Here again")


async def test_a_draft_and_a_place_are_found_again_on_another_device(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="parrot")
    for number in range(50):
        await house.keeper.chat(f"line {number} " + "word " * 60, session_id=session.id)
    page = await open_page(f"/sessions/{session.id}")
    await expect(page.get_by_text("line 49 ").first).to_be_in_viewport()
    box = page.get_by_role("region", name="Conversation")
    await box.evaluate("box => { box.scrollTop = 0 }")
    await expect(page.get_by_text("Reading older messages")).to_be_hidden()
    await expect(page.get_by_text("line 20 ").first).to_be_in_viewport()  # older ones came in front, and nothing moved
    async with page.expect_request(lambda asked: asked.method == "PUT") as saved:
        await page.get_by_role("textbox", name="Message").fill("half a thou")
        await box.evaluate("box => { box.scrollTop = 0 }")
        await expect(page.get_by_text("line 0 ").first).to_be_in_viewport()
    await (await saved.value).response()

    there = await open_page(f"/sessions/{session.id}")

    await expect(there.get_by_role("textbox", name="Message")).to_have_value("half a thou")
    await expect(there.get_by_text("line 0 ").first).to_be_in_viewport()


async def test_on_a_phone_the_intent_is_in_a_drawer_and_nothing_is_wider_than_the_screen(
    house: House, open_page: OpenPage
) -> None:
    await house.keeper.packs.push(demo_packs()["table-booking"])
    session = await house.keeper.create_session(agent="parrot", pack="table-booking")
    await house.keeper.chat("I want to book a table " + "w" * 400, session_id=session.id)
    page = await open_page(f"/sessions/{session.id}", width=375, height=700)

    await expect(page.get_by_role("article", name="You said")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") == 375
    await page.get_by_role("button", name="Intent and agent").click()

    await expect(page.get_by_role("dialog").get_by_label("Date", exact=True)).to_be_visible()
