"""Looking after a running house: what is stuck, how fast it is, what it spends, and who was turned away."""

import asyncio
from datetime import datetime

import httpx
import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.house import TOKEN, House, settled
from turnkeeper.errors import RunEnded
from turnkeeper.model.policy import Rate


def as_owner(house: House) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"{house.url}/api/v1", headers={"Authorization": f"Bearer {TOKEN}"})


def row(page: Page, table: str, text: str) -> Locator:
    return page.get_by_role("table", name=table).get_by_role("row").filter(has_text=text)


def figure(page: Page, name: str) -> Locator:
    return page.locator("dl > div").filter(has=page.get_by_text(name, exact=True)).locator("dd").first


async def go_to(page: Page, view: str) -> None:
    await page.get_by_role("navigation", name="Operate").get_by_role("link", name=view, exact=True).click()
    await settled(page)


async def test_a_run_that_hangs_is_seen_with_its_node_and_is_cancelled(house: House, open_page: OpenPage) -> None:
    hanging = asyncio.create_task(house.keeper.chat("Tell me a story", agent="storyteller"))
    await house.gates.reached("half")
    page = await open_page("/operate")

    run = row(page, "Live runs", "storyteller")
    await expect(run).to_contain_text("running")
    (node,) = await house.keeper.overview.nodes()
    await expect(run).to_contain_text(node.id[-6:])
    await expect(page.get_by_role("list", name="Nodes").get_by_role("link", name="storyteller")).to_be_visible()
    await expect(page.get_by_text("Nothing is stuck")).to_be_visible()
    await run.get_by_role("button", name="Cancel").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel", exact=True).click()
    await expect(run).to_be_visible()
    await run.get_by_role("button", name="Cancel").click()
    await page.get_by_role("button", name="Cancel the run", exact=True).click()

    with pytest.raises(RunEnded) as ended:
        await hanging
    assert ended.value.run.status == "cancelled"
    await page.get_by_role("button", name="Refresh now").click()
    await expect(page.get_by_text("Nothing runs and nothing waits")).to_be_visible()


async def test_what_failed_lately_is_listed_with_what_was_said_and_leads_to_why(
    house: House, open_page: OpenPage
) -> None:
    said = "Is it cold at the pier? " + "And the wind " * 30
    with pytest.raises(RunEnded) as ended:
        await house.keeper.chat(said, agent="failing")
    page = await open_page("/operate")

    failed = row(page, "Runs that failed lately", "failing")
    await expect(failed).to_contain_text("Is it cold at the pier?")
    await expect(failed).to_contain_text("The agent failed with RuntimeError")
    session = row(page, "Sessions that were active last", "failing")
    await expect(session.get_by_role("link")).to_contain_text("Is it cold at the pier?")
    owner = await session.get_by_role("cell").nth(2).bounding_box()
    assert owner is not None
    assert owner["height"] < 70, "a long title squeezes no other column"
    await failed.get_by_role("link", name="Why").click()

    await page.wait_for_url(lambda url: url.endswith(f"/why/{ended.value.run.id}"))


async def test_the_page_renews_itself_until_it_is_paused(house: House, open_page: OpenPage) -> None:
    page = await open_page("/operate")
    await page.clock.install()
    await page.reload()
    await settled(page)
    await expect(page.get_by_text("Nothing runs and nothing waits")).to_be_visible()

    await house.keeper.chat("For two?", agent="asking")
    await page.clock.run_for(6_000)
    await expect(row(page, "Live runs", "asking")).to_contain_text("waiting")
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text(", paused")).to_be_visible()
    await house.keeper.chat("For three?", agent="asking")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.clock.run_for(10_000)
    assert [url for url in asked if "/runs" in url] == []
    await page.get_by_role("button", name="Refresh now").click()
    await expect(row(page, "Live runs", "asking")).to_have_count(2)
    await page.clock.fast_forward(3_700_000)
    await page.get_by_role("button", name="Go on").click()

    await expect(page.get_by_text("2 things need a look")).to_be_visible()


async def test_acceptance_and_usage_are_drawn_with_the_numbers_of_the_api(house: House, open_page: OpenPage) -> None:
    for said in ("One", "Two", "Three"):
        await house.keeper.chat(said)
    with pytest.raises(RunEnded):
        await house.keeper.chat("What is the weather?", agent="failing")
    async with as_owner(house) as api:
        await api.post("/chat", json={"message": "x", "agent": "nobody"})
        traffic = (await api.get("/traffic")).json()
        usage = (await api.get("/usage")).json()
    page = await open_page("/operate?view=traffic")

    took = traffic["acceptance"]
    await expect(figure(page, "Half are accepted within")).to_have_text(f"{_fine(took['p50_ms'])} ms")
    await expect(figure(page, "Let in")).to_have_text(str(took["count"]))
    await expect(figure(page, "Refused")).to_have_text("1")
    latency = page.get_by_role("region", name="How long does it take")
    bars = latency.locator(".recharts-bar-rectangle path")
    await expect(bars).to_have_count(sum(bucket["count"] > 0 for bucket in took["buckets"]))
    await latency.get_by_role("button", name="As a table").click()
    cells = await latency.get_by_role("cell").all_inner_texts()
    assert sum(int(cell) for cell in cells[1::2]) == took["count"] == 4
    await expect(row(page, "Why messages were refused", "agent_not_found")).to_contain_text("No node has an agent")

    await go_to(page, "Usage")
    await expect(figure(page, "Runs")).to_have_text(str(usage["total"]["runs"]))
    await expect(page.get_by_text("Of 4 runs, 3 completed and 1 failed (25 %).")).to_be_visible()
    who = page.get_by_role("region", name="Who uses it")
    await expect(who.get_by_text("4 runs in all, 75 % of them by parrot.")).to_be_visible()
    await expect(who.locator(".recharts-bar-rectangle path")).to_have_count(len(usage["items"]))
    await who.get_by_role("button", name="As a table").click()
    now = who.get_by_role("row").filter(has_text=f"{datetime.fromisoformat(usage['items'][0]['at']):%H:%M} UTC")
    await expect(now.get_by_role("cell").nth(1)).to_have_text("3")
    await page.get_by_label("The last").select_option("30 days")
    await expect(page.get_by_label("Told by")).to_have_value("day")
    await expect(who.get_by_role("row")).to_have_count(31)
    assert "days=30" in page.url


async def test_whoever_was_turned_away_is_counted_explained_and_found(house: House, open_page: OpenPage) -> None:
    member = await house.keeper.keys.create("shop", user="mia", role="member")
    await house.keeper.chat("Hello")
    async with as_owner(house) as api:
        await api.get("/audit", headers={"Authorization": f"Bearer {member.token}"})
        await api.post("/chat", json={"message": "x", "agent": "nobody"})
        await api.post("/chat", json={"message": "y", "agent": "nobody"})
    page = await open_page("/operate?view=audit")

    await expect(page.get_by_text("3 times something was refused, most often for agent_not_found (2).")).to_be_visible()
    await expect(row(page, "Reasons for refusals", "not_allowed")).to_contain_text("Give them a higher role")
    chart = page.get_by_role("region", name="Who was turned away")
    await chart.locator(".recharts-bar-rectangle path").first.click()
    entries = page.get_by_role("table", name="Entries of the audit").locator("tbody tr")
    await expect(entries).to_have_count(2)
    assert "reason=agent_not_found" in page.url
    await page.get_by_role("button", name="Show the entries of not_allowed").click()
    await expect(entries).to_have_count(1)
    await expect(entries).to_contain_text("mia")
    another = await open_page(f"/operate{page.url.partition('/operate')[2]}")
    await another.get_by_role("button", name="Details of find_audit, not_allowed").click()
    await expect(another.get_by_role("dialog")).to_contain_text("The role or the key of the caller")
    await another.keyboard.press("Escape")
    await another.get_by_role("search").get_by_label("Reason").fill("")
    await another.get_by_role("search").get_by_label("Asked for").fill("chat")
    await expect(another.get_by_role("table", name="Entries of the audit").locator("tbody tr")).to_have_count(3)

    async with page.expect_download() as coming:
        await page.get_by_role("button", name="Export all of it").click()
    exported = (await (await coming.value).path()).read_text(encoding="utf-8")
    assert len(exported.splitlines()) == len([entry async for entry in house.keeper.audit_entries()])
    assert "find_audit" in exported


async def test_limits_are_told_with_what_is_left(house: House, open_page: OpenPage) -> None:
    slow = await house.keeper.keys.create("slow", rate=Rate(per_second=0.001, burst=500))
    await house.keeper.chat("Hello")
    page = await open_page("/operate?view=limits", token=slow.token)

    rates = page.get_by_role("list", name="Rates")
    await expect(rates.get_by_role("listitem").filter(has_text="Messages")).to_contain_text("of 400 left")
    await expect(page.get_by_role("list", name="Allowances")).to_contain_text("of 1,000 used")
    await expect(page.get_by_text("Characters in a message")).to_be_visible()
    await expect(row(page, "What is stored, by class", "without a class")).to_contain_text("1")


async def test_a_member_sees_their_own_runs_and_limits_and_asks_for_nothing_else(
    house: House, open_page: OpenPage
) -> None:
    member = await house.keeper.keys.create("mia", user="mia", role="member")
    await house.keeper.chat("Whose is it?", agent="asking")
    async with as_owner(house) as api:
        body = {"message": "My own", "agent": "asking"}
        await api.post("/chat", json=body, headers={"Authorization": f"Bearer {member.token}"})
    page = await open_page("/", token=member.token)
    refused: list[str] = []
    page.on("response", lambda response: refused.append(response.url) if response.status == 403 else None)

    await expect(page.get_by_role("link", name="Operate")).to_have_count(0)
    await page.goto(f"{house.url}/console/operate?view=audit")
    await settled(page)
    await expect(page.get_by_role("navigation", name="Operate").get_by_role("link")).to_have_text(["Now", "Limits"])
    await expect(row(page, "Live runs", "My own")).to_have_count(1)
    await expect(row(page, "Live runs", "Whose is it?")).to_have_count(0)
    await go_to(page, "Limits")
    await expect(page.get_by_text("Open streams")).to_be_visible()

    assert refused == []


def _fine(value: float) -> str:
    """At most two places, as the page tells milliseconds."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
