"""The first minutes of a newcomer: an empty install leads through memory, a form, a reset, and a failed turn."""

from playwright.async_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House
from turnkeeper import Principal, Role
from turnkeeper.cli.demo import set_up_demo

LEAVE = "window.dispatchEvent(new Event('pagehide'))"
NO_REST = """
  const start = window.setTimeout;
  window.setTimeout = (then, ms, ...rest) => start(then, ms >= 1000 ? 1e8 : ms, ...rest);
"""
"""What waits for a second or longer waits for ever: however slow the machine, nothing is saved by itself."""


def layouts_saved(page: Page) -> list[str]:
    """Fills as the page asks for it."""
    saved: list[str] = []
    page.on("request", lambda request: saved.append(request.method) if request.url.endswith("/layout") else None)
    return saved


async def look_around(page: Page) -> None:
    views = page.get_by_role("navigation", name="Session")
    for view in ("Scope", "Knowledge", "History"):
        await views.get_by_role("link", name=view).click()
        await expect(page.get_by_role("heading", name=view).first).to_be_visible()


async def test_an_empty_install_opens_on_a_tour_that_does_everything_for_real(
    house: House, open_page: OpenPage
) -> None:
    set_up_demo(house.keeper)
    await house.keeper.packs.push_demos()
    page = await open_page()
    tour = page.get_by_role("complementary", name="Tour")

    await tour.get_by_role("button", name="Say: The ferry leaves at six.").click()
    await tour.get_by_role("button", name="Ask: When does the ferry leave?").click()
    await expect(tour.get_by_role("heading", name="A form in a conversation")).to_be_visible()
    remembered = page.url.rpartition("/")[2]
    await tour.get_by_role("button", name="Say: I would like to book a table").click()
    await tour.get_by_role("button", name="Reset this session").click()
    await expect(tour.get_by_role("heading", name="A turn that fails")).to_be_visible()
    booked = page.url.rpartition("/")[2]
    await page.reload()
    await tour.get_by_role("button", name="Ask: What is the weather").click()
    await expect(tour.get_by_role("heading", name="Why it failed")).to_be_visible()
    failed = page.url.rpartition("/")[2]
    await tour.get_by_role("button", name="Show me why").click()
    await expect(page.get_by_text("The weather station at the pier did not answer").first).to_be_visible()
    await tour.get_by_role("button", name="Finish").click()
    await expect(tour).to_be_hidden()

    answers = await house.keeper.messages(remembered)
    assert "six" in answers[-1].content
    assert (await house.keeper.session(booked)).epoch.number == 2
    assert await house.keeper.messages(failed) == []


async def test_the_tour_can_be_dismissed_for_good_and_asked_for_again(house: House, open_page: OpenPage) -> None:
    page = await open_page()
    tour = page.get_by_role("complementary", name="Tour")

    await tour.get_by_role("button", name="Dismiss the tour").click()
    await page.reload()
    await expect(page.get_by_role("heading", name="Go on where you were")).to_be_visible()
    await expect(tour).to_be_hidden()
    await page.get_by_role("link", name="Take the tour").click()

    await expect(tour).to_be_visible()


async def test_whoever_has_sessions_is_not_led_by_the_hand(house: House, open_page: OpenPage) -> None:
    await house.keeper.chat("The heating is broken")
    page = await open_page()

    await expect(page.get_by_role("list", name="Newest topics").get_by_text("The heating is broken")).to_be_visible()
    await expect(page.get_by_role("complementary", name="Tour")).to_be_hidden()


async def test_whoever_may_only_read_is_not_offered_what_they_may_not_do(house: House, open_page: OpenPage) -> None:
    viewer = await house.keeper.keys.create("eye", user="mia", role="viewer")
    mia = Principal(tenant=viewer.key.tenant, user=viewer.key.user, role=Role.MEMBER)
    page = await open_page("/tour", token=viewer.token)
    saved = layouts_saved(page)

    await expect(page.get_by_role("heading", name="Go on where you were")).to_be_visible()
    await expect(page.get_by_role("complementary", name="Tour")).to_be_hidden()
    await expect(page.get_by_role("link", name="tour")).to_have_count(0)
    await expect(page.get_by_role("link", name="New chat")).to_have_count(0)
    id = (await house.keeper.chat("The heating is broken", principal=mia)).session_id
    await page.goto(f"{house.url}/console/sessions/{id}")
    await look_around(page)
    await page.evaluate(LEAVE)
    await page.goto("about:blank")

    assert saved == []


async def test_a_look_is_not_saved_at_every_change_but_once_for_all_of_them(house: House, open_page: OpenPage) -> None:
    id = (await house.keeper.chat("The heating is broken")).session_id
    page = await open_page("/sessions")
    await page.add_init_script(NO_REST)
    await page.goto(f"{house.url}/console/sessions/{id}")
    saved = layouts_saved(page)

    await look_around(page)
    assert saved == []
    async with page.expect_response(lambda response: response.url.endswith("/layout") and response.ok):
        await page.evaluate(LEAVE)

    assert saved == ["PUT"]
    assert "history" in str((await house.keeper.resume_view(id)).layout)


async def test_a_step_that_needs_the_demo_says_so_and_can_be_skipped(house: House, open_page: OpenPage) -> None:
    page = await open_page()
    tour = page.get_by_role("complementary", name="Tour")

    await tour.get_by_role("button", name="Say: The ferry leaves at six.").click()
    await tour.get_by_role("button", name="Ask: When does the ferry leave?").click()
    await expect(tour).to_contain_text("turnkeeper serve --demo")
    await tour.get_by_role("button", name="Skip this step").click()

    await expect(tour.get_by_role("heading", name="A clean reset")).to_be_visible()
