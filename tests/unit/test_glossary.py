"""The glossary maps every field of the source's session state to one of ours, and each of ours is there."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.contract.builders import a_session
from turnkeeper import AgentTurn, Turnkeeper
from turnkeeper.model.mount import Mount, MountKind
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.run_context import RunContext
from turnkeeper.ports.plugins import PluginKind
from turnkeeper.testing.clock import NOON

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
ROW = re.compile(r"^\| (\w+) \| `([^`]+)` \|$", flags=re.MULTILINE)

# What a session owns, as its source lists it.
FIELDS = {
    *("sessionId", "createdAt", "lastActivityAt", "expiresAt", "preferredModel", "preferredPlannerPlugin"),
    *("preferredSeedDetectorPlugin", "preferredKBPlugin", "preferredGoalSolverPlugin", "mountedKbId", "messageLog"),
    *("sessionContextUnits", "explainabilityLog"),
}


def rows() -> dict[str, str]:
    section = PAGE.read_text(encoding="utf-8").partition("### The state of a session")[2].partition("\n## ")[0]
    return dict(ROW.findall(section))


def session() -> Any:
    plugins = {kind.value: f"{kind.value}-one" for kind in PluginKind}
    mount = Mount(kind=MountKind.KNOWLEDGE_BASE, id="kb_one", revision=1, mounted_at=NOON)
    return a_session(preferences=Preferences(model="small", plugins=plugins, level=1), mounts=(mount,))


def test_every_field_of_the_page_has_a_name_of_ours() -> None:
    assert rows().keys() >= FIELDS


@pytest.mark.parametrize("ours", rows().values())
def test_every_name_of_ours_is_there(ours: str) -> None:
    owner, _, path = ours.partition(".")
    if owner == "Session":
        names = {"Session": session()}
        assert eval(f"Session.{path}", {}, names) is not None
    elif owner == "Turnkeeper":
        assert hasattr(Turnkeeper.open("unopened.db"), path)
    else:
        assert path in AgentTurn.__slots__


def test_a_session_expires_as_long_after_its_last_activity_as_the_page_shows() -> None:
    shown = a_session(last_active_at=NOON + timedelta(minutes=5), idle_for_seconds=1800)

    assert shown.expires_at == NOON + timedelta(minutes=35)


def test_a_run_knows_what_its_session_prefers() -> None:
    assert {"explicit", "preferred", "mounts", "budget"} <= set(RunContext.__slots__)
