"""Scope: mounts with the layer that gave each, what holds, and what outlives a session."""

import re

from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.house import House
from turnkeeper.model.layer import DefaultMount, LayerTerms
from turnkeeper.model.manifest import Manifest
from turnkeeper.model.mount import MountKind

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000"
    "050001a5f645400000000049454e44ae426082"
)
HOSTILE = b"<script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>"


def gives(*bases: str, steps: int = 20) -> LayerTerms:
    mounts = tuple(DefaultMount(kind=MountKind.KNOWLEDGE_BASE, id=base) for base in bases)
    return LayerTerms(mounts=mounts, limits={"max_steps": steps}, blocked_tools=("mail.*",))


async def a_story(house: House) -> tuple[Manifest, Manifest, str]:
    """A pointer that moved from a first to a second manifest."""
    keep = house.keeper.artifacts.keep
    intro = await keep(b"Once upon a time\nthere was a port.\n", media_type="text/plain", name="intro.txt")
    better = await keep(b"Once upon a time\nthere was a lighthouse.\n", media_type="text/plain", name="intro.txt")
    end = await keep(b"The end.", media_type="text/plain", name="end.txt")
    first, _ = await house.keeper.manifests.create({"docs/intro.txt": intro}, message="First draft")
    second, _ = await house.keeper.manifests.create(
        {"docs/intro.txt": better, "docs/end/end.txt": end}, message="Second draft", parent=first.sha256
    )
    pointer = await house.keeper.pointers.create("story", manifest=first.sha256)
    await house.keeper.pointers.advance(pointer.id, second.sha256)
    return first, second, str(pointer.id)


async def test_mounts_name_their_layer_and_are_removed_and_pinned_again(house: House, open_page: OpenPage) -> None:
    base = await house.keeper.bases.create("Handbook")
    _, _, pointer_id = await a_story(house)
    project = await house.keeper.projects.create("Harbour", terms=gives(base.id))
    session = await house.keeper.create_session(project_id=project.id, agent="clerk")
    page = await open_page(f"/sessions/{session.id}/scope")
    mounts = page.get_by_role("region", name="Mounts")
    row = mounts.get_by_role("row").filter(has_text="Handbook")

    await expect(row).to_contain_text("project")
    await expect(row).to_contain_text("in use")
    await row.get_by_role("button", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(row).to_contain_text("removed here")
    await row.get_by_role("button", name="Pin again").click()
    await expect(row).to_contain_text("in use")
    await mounts.get_by_label("Which one").select_option(pointer_id)
    await mounts.get_by_label("How").select_option("fixed")
    await mounts.get_by_role("button", name="Pin", exact=True).click()

    pinned = mounts.get_by_role("row").filter(has_text="default/story")
    await expect(pinned).to_contain_text("session")
    await expect(pinned).to_contain_text("fixed to")
    limits = page.get_by_role("region", name="What holds here").get_by_role("row").filter(has_text="tools and models")
    await expect(limits).to_contain_text("project")
    tools = page.get_by_role("region", name="Tools")
    await expect(tools).to_contain_text("connector.crm.write")
    await expect(tools).to_contain_text("a person is asked first")
    await expect(tools).to_contain_text("blocks: mail.*")


async def test_a_rebase_says_what_it_would_change_and_what_it_did(house: House, open_page: OpenPage) -> None:
    base = await house.keeper.bases.create("Handbook")
    project = await house.keeper.projects.create("Harbour", terms=gives())
    session = await house.keeper.create_session(project_id=project.id, agent="parrot")
    await house.keeper.projects.change(project.id, terms=gives(base.id, steps=5))
    page = await open_page(f"/sessions/{session.id}/scope", width=375)

    await expect(page.get_by_text("The layers have changed since.")).to_be_visible()
    await page.get_by_role("button", name="Rebase").click()
    await expect(page.get_by_role("dialog")).to_contain_text("now limits max steps to 5")
    await page.get_by_role("dialog").get_by_role("button", name="Rebase").click()

    await expect(page.get_by_text("Rebased.")).to_contain_text("Calls of tools and models: 5")
    await expect(page.get_by_role("region", name="Mounts")).to_contain_text("Handbook")
    await expect(page.get_by_text("The layers have changed since.")).to_be_hidden()


async def test_what_came_out_of_a_session_leads_to_the_manifest_and_what_changed_in_it(
    house: House, open_page: OpenPage
) -> None:
    first, second, _ = await a_story(house)
    session = await house.keeper.create_session(agent="parrot")
    note = await house.keeper.artifacts.keep(b"A note", media_type="text/markdown", name="note.md")
    await house.keeper.substrate.publish(session.id, {"note.md": note}, pointer="default/story")
    page = await open_page(f"/sessions/{session.id}/scope")

    outputs = page.get_by_role("region", name="What came out")
    await outputs.get_by_role("link", name="default/story moved").click()
    history = page.get_by_role("region", name="Where it has been")
    await expect(history.get_by_role("row")).to_have_count(4)
    await history.get_by_role("row").nth(2).get_by_role("link", name="what changed").click()

    changes = page.get_by_role("region", name="What changed")
    await expect(changes.get_by_role("listitem").filter(has_text="docs/end/end.txt")).to_contain_text("added")
    await expect(page.get_by_role("region", name="Entries")).to_contain_text("intro.txt")
    await expect(page).to_have_url(re.compile(f"manifest={second.sha256}.*against={first.sha256}"))
    await changes.get_by_role("link", name="what is different").click()
    different = page.get_by_role("region", name="What is different")
    await expect(different.locator("del")).to_contain_text("there was a port.")
    await expect(different.locator("ins")).to_contain_text("there was a lighthouse.")


async def test_artifacts_are_shown_as_text_or_picture_and_never_run(house: House, open_page: OpenPage) -> None:
    keep = house.keeper.artifacts.keep
    await keep(HOSTILE, media_type="text/html", name="page.html")
    drawing = await keep(PIXEL, media_type="image/png", name="dot.png")
    data = await keep(b'{"a":[1,2]}', media_type="application/json", name="data.json")
    other = await keep(b"\x00\x01", media_type="application/pdf", name="<b>book</b>.pdf")

    page = await open_page("/artifacts", width=375, theme="dark")
    await expect(page.get_by_role("region", name="Kept last").get_by_role("link")).to_have_count(4)
    await page.get_by_role("link", name="page.html").click()
    preview = page.get_by_role("region", name="Preview")
    await expect(preview).to_contain_text("<script>window.hurt = 1</script>")
    assert await page.evaluate("window.hurt === undefined && document.querySelectorAll('img[src=x]').length === 0")
    await page.get_by_label("By its hash or id").fill(drawing.id)
    await page.get_by_role("button", name="Show").click()
    picture = preview.get_by_role("img", name="dot.png")
    await expect(picture).to_have_js_property("naturalWidth", 1)
    await expect(picture).to_have_attribute("src", re.compile("^blob:"))
    await page.get_by_label("By its hash or id").fill(data.id)
    await page.get_by_role("button", name="Show").click()
    await expect(preview).to_contain_text('"a": [')
    await page.get_by_label("By its hash or id").fill(other.id)
    await page.get_by_role("button", name="Show").click()
    await expect(preview).to_contain_text("2 B of application/pdf cannot be shown here")
    async with page.expect_download() as downloading:
        await page.get_by_role("button", name="Download").click()
    assert (await downloading.value).suggested_filename.endswith(".pdf")
    await page.get_by_label("By its hash or id").fill("nothing")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_role("alert")).to_contain_text("artifact_not_found")
