"""Why: the Explanation of every turn, in words, as a graph, over time, and beside another one."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House
from turnkeeper import AgentTurn
from turnkeeper.errors import RunEnded
from turnkeeper.model.graph import EdgeType, NodeType

HOSTILE = '<img src=x onerror="window.hurt=1"> \u202egnihton [a](javascript:hurt) ' + "w" * 400


async def failed_run(house: House, session_id: str) -> str:
    with pytest.raises(RunEnded) as ended:
        await house.keeper.chat("What is the weather?", agent="failing", session_id=session_id)
    return str(ended.value.run.id)


async def two_turns(house: House) -> tuple[str, str, str]:
    told = await house.keeper.chat("The depot is in Narva. We have seven vans.", agent="symbolic")
    asked = await house.keeper.chat("Where is the depot?", session_id=told.session_id)
    return told.session_id, told.run_id, asked.run_id


def graph_of(page: Page) -> Locator:
    return page.get_by_role("application", name="Graph of this run")


async def test_a_newcomer_reads_what_failed_where_what_was_kept_and_what_to_do(
    house: House, open_page: OpenPage
) -> None:
    first = await house.keeper.chat("Hello")
    run_id = await failed_run(house, first.session_id)

    page = await open_page(f"/sessions/{first.session_id}/why")

    runs = page.get_by_role("navigation", name="Runs")
    await expect(runs.get_by_role("link")).to_have_count(2)
    await expect(runs.get_by_role("link").first).to_contain_text("failed")
    story = page.get_by_role("region", name="This turn failed at “Agent at work”")
    await expect(story).to_contain_text("What is the weather?")
    await expect(story).to_contain_text("The agent failed with RuntimeError")
    await expect(story).to_contain_text("In step 6 of 7")
    await expect(story).to_contain_text("The conversation is exactly as it was before")
    await expect(story).to_contain_text("Not by itself")
    await expect(story).to_contain_text("The log of the server has the full error")
    await expect(story).to_contain_text(run_id)
    await page.get_by_role("button", name="Timeline").click()
    await page.get_by_role("button", name="Agent at work failed").click()
    await expect(page.get_by_role("complementary", name="Node")).to_contain_text("agent_failed: The agent failed")
    await expect(page).to_have_url(re.compile("node=step-5"))
    await runs.get_by_role("link", name="Hello").click()
    await expect(page.get_by_role("region", name="Answered")).to_contain_text("You said: Hello")


async def test_the_graph_is_walked_by_keyboard_and_a_node_is_opened(house: House, open_page: OpenPage) -> None:
    session_id, _, run_id = await two_turns(house)
    page = await open_page(f"/sessions/{session_id}/why/{run_id}")
    graph = graph_of(page)

    await graph.focus()
    for key in ["ArrowRight"] * 5 + ["ArrowDown", "ArrowDown"]:
        await page.keyboard.press(key)
    await expect(graph).to_have_attribute("aria-activedescendant", "node-frame-0%3Apolicy")
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("Enter")

    panel = page.get_by_role("complementary", name="Node")
    await expect(panel.get_by_role("heading", name="sd-symbolic")).to_be_focused()
    await expect(panel).to_contain_text("Where is the depot?")
    await expect(panel).to_contain_text("Comes from")
    await expect(page).to_have_url(re.compile("node=plugin-1"))
    await page.reload()
    await expect(panel.get_by_role("heading", name="sd-symbolic")).to_be_visible()
    await expect(graph).to_have_attribute("aria-activedescendant", "node-plugin-1")
    await page.keyboard.press("Escape")
    await expect(panel).to_be_hidden()
    await expect(graph).to_be_focused()
    await page.get_by_role("button", name="List").click()
    await expect(page.get_by_role("listitem").filter(has_text="kb-fast").last).to_be_visible()


async def test_units_budget_and_what_really_ran_are_told(house: House, open_page: OpenPage) -> None:
    @house.keeper.agent("spender")
    async def spender(turn: AgentTurn) -> str:
        turn.context.budget.debit("tokens", 30)
        await turn.call("nobody.has.this")
        return "Spent."

    session_id, told, asked = await two_turns(house)
    await house.keeper.chat("Spend", session_id=session_id, agent="spender")

    page = await open_page(f"/sessions/{session_id}/why/{asked}")
    units = page.get_by_role("region", name="Units")
    await expect(units).to_contain_text("The depot is in Narva.")
    await expect(units.get_by_role("link")).to_have_attribute("href", re.compile("knowledge.unit=session"))
    await expect(page.get_by_role("region", name="What really ran")).to_contain_text("gs-symbolic")
    await page.goto(page.url.replace(asked, told))
    await expect(units).to_contain_text("Learned")
    await page.get_by_role("link", name="Spend").click()
    await expect(page.get_by_role("region", name="Budget")).to_contain_text("30 tokens")
    await expect(page.get_by_role("region", name="What really ran")).to_contain_text("Denied")


async def test_two_turns_are_compared_side_by_side(house: House, open_page: OpenPage) -> None:
    session_id, told, asked = await two_turns(house)
    page = await open_page(f"/sessions/{session_id}/why/{asked}")

    await page.get_by_label("Compare with").select_option(told)

    await expect(page).to_have_url(re.compile(f"with={told}"))
    await expect(page.get_by_role("region", name="The answers").locator("del")).not_to_have_count(0)
    row = page.get_by_role("row").filter(has_text="Units learned")
    await expect(row).to_contain_text("differs")
    await expect(page.get_by_role("row").filter(has_text="Status")).to_contain_text("same")
    await expect(page.get_by_role("region", name="Nodes")).to_contain_text("plugin kb-fast, success")


async def test_the_page_renews_itself_when_an_open_run_ends(house: House, open_page: OpenPage) -> None:
    session = await house.keeper.create_session(agent="storyteller")
    await house.keeper.submit("Tell me", session_id=session.id)
    await house.gates.reached("half")
    page = await open_page(f"/sessions/{session.id}/why")
    await expect(page.get_by_role("region", name="Still at work")).to_be_visible()
    await expect(page.get_by_role("navigation", name="Runs").get_by_role("link", name="Tell me")).to_be_visible()

    house.gates.open("half")

    await expect(page.get_by_role("region", name="Answered")).to_contain_text("there was a lighthouse")


async def test_what_strangers_wrote_into_a_graph_is_shown_and_does_nothing(house: House, open_page: OpenPage) -> None:
    @house.keeper.agent("hostile")
    async def hostile(turn: AgentTurn) -> str:
        turn.notes.begin("n", NodeType.PLUGIN, HOSTILE, input=HOSTILE)
        turn.notes.end("n", HOSTILE, output=HOSTILE, error=HOSTILE)
        turn.notes.begin("m", NodeType.RESULT, "after")
        turn.notes.edge(EdgeType.PRODUCED, "n", "m")
        return HOSTILE

    reply = await house.keeper.chat(HOSTILE, agent="hostile")
    page = await open_page(f"/sessions/{reply.session_id}/why/{reply.run_id}?show=graph&node=n", width=375)

    await expect(page.get_by_role("complementary", name="Node")).to_contain_text("onerror")
    await expect(page.get_by_role("region", name="Answered")).to_contain_text("javascript:hurt")
    assert await page.evaluate("window.hurt === undefined && document.querySelectorAll('img[src=x]').length === 0")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_on_a_phone_the_list_of_runs_comes_first_and_then_one_of_them(house: House, open_page: OpenPage) -> None:
    session_id, _, _ = await two_turns(house)
    page = await open_page(f"/sessions/{session_id}/why", width=375, theme="dark")

    await page.get_by_role("link", name="Where is the depot?").click()

    await expect(page.get_by_role("region", name="Answered")).to_be_visible()
    await expect(page.get_by_role("button", name="List")).to_have_attribute("aria-pressed", "true")
    await page.get_by_role("link", name="All runs").click()
    await expect(page.get_by_role("navigation", name="Runs")).to_be_visible()
