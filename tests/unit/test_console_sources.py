"""What holds for the sources of the console, wherever one looks."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"
SOURCES = sorted(path for path in (WEB / "src").rglob("*.ts*") if not path.name.endswith(".gen.ts"))
STYLES = sorted((WEB / "src").rglob("*.css"))


def room_of(path: Path) -> str:
    """`api`, `ui`, `features/chat`, or the file itself."""
    parts = path.relative_to(WEB / "src").parts
    return "/".join(parts[:2]) if parts[0] == "features" else parts[0]


def imports_of(path: Path) -> Iterator[Path]:
    text = path.read_text(encoding="utf-8")
    for named in re.findall(r"""(?:from|import)\s*\(?\s*["'](\.[^"']+)["']""", text):
        yield (path.parent / named).resolve()


def test_there_are_sources() -> None:
    assert len(SOURCES) > 30


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(WEB / "src").as_posix())
def test_a_feature_knows_the_api_and_the_ui_and_no_other_feature(path: Path) -> None:
    room = room_of(path)
    allowed = {
        "api": {"api"},
        "ui": {"ui", "api"},
        "main.tsx": {"api", "ui", "routes.tsx"},
        "addresses.ts": set(),
    }.get(room, {room, "api", "ui", "addresses.ts"})
    if room == "routes.tsx":
        return

    assert {room_of(imported) for imported in imports_of(path)} <= allowed


@pytest.mark.parametrize(
    "forbidden",
    [
        r"dangerouslySetInnerHTML",
        r"\.innerHTML",
        r"\beval\(",
        r"new Function",
        r"document\.write",
        r"\bas any\b",
        r": any\b",
    ],
)
def test_nothing_puts_text_of_others_where_it_could_run(forbidden: str) -> None:
    found = [path.name for path in SOURCES if re.search(forbidden, path.read_text(encoding="utf-8"))]

    assert found == []


def test_no_page_loads_anything_from_another_host() -> None:
    """Links to elsewhere are fine in texts of users; addresses of our own in the sources are not."""
    hosts = re.compile(r"https?://(?!www\.w3\.org/|127\.0\.0\.1)")
    found = [
        f"{path.name}: {line.strip()}"
        for path in (*SOURCES, *STYLES, WEB / "index.html")
        if ".test." not in path.name
        for line in path.read_text(encoding="utf-8").splitlines()
        if hosts.search(line)
    ]

    assert found == []


def test_every_colour_is_named_once_for_both_themes() -> None:
    """A raw colour outside of tokens.css would be the same in the dark."""
    colours = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\((?!\s*(?:0 0 0|10 10 25|20 20 50))")
    found = [
        f"{path.name}: {line.strip()}"
        for path in STYLES
        if path.name != "tokens.css"
        for line in path.read_text(encoding="utf-8").splitlines()
        if colours.search(line)
    ]

    assert found == []


def test_every_colour_has_a_light_and_a_dark_side() -> None:
    text = (WEB / "src" / "ui" / "tokens.css").read_text(encoding="utf-8")
    colours = [line for line in text.splitlines() if re.search(r"#[0-9a-f]{6}", line)]

    assert len(colours) > 20
    assert [line for line in colours if "light-dark(" not in line] == []
