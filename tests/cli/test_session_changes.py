"""Sessions are begun and changed from the terminal."""

import re
from collections.abc import Iterator

import pytest

from tests.cli.inside import carried_out
from tests.server.process import ServerProcess, a_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with a_server(tmp_path_factory.mktemp("sessions") / "conversations.db", "--token", "secret") as running:
        yield running


def told(server: ServerProcess, *arguments: str, code: int = 0) -> str:
    done = carried_out("sessions", *arguments, "--url", server.url, "--token", "secret")
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_a_session_is_begun_changed_and_ended(server: ServerProcess) -> None:
    base = server.api("secret").post("/kbs", {"name": "Kettles"}).json()["id"]

    id = told(server, "create", "--module", "research", "--policy", "regulated", "--title", "Kettles").strip()
    pinned = told(server, "pin", id, f"knowledge_base:{base}")
    unpinned = told(server, "unpin", id, f"knowledge_base:{base}")
    paused, resumed = told(server, "pause", id), told(server, "resume", id)
    listed = told(server, "list", "--module", "research")
    closed = told(server, "close", id)

    assert pinned == f"effective  knowledge_base  {base}  from session\n"
    assert unpinned == "Nothing is mounted.\n"
    assert (paused, resumed, closed) == (f"{id} is paused.\n", f"{id} is active.\n", f"{id} is closed.\n")
    assert re.fullmatch(rf"{id}  active  0 turns  \S+  \S+ \S+  research  Kettles\n", listed)
    assert told(server, "list", "--status", "paused").startswith("Nothing fits.")
    assert "KIND:ID" in told(server, "pin", id, "pointer", code=2)
