"""Exporting and erasing from the terminal, with a real server."""

import json
import zipfile
from pathlib import Path

from tests.cli.terminal import turnkeeper
from tests.server.process import a_server


def test_a_session_and_a_user_are_exported_and_erased_from_the_terminal(tmp_path: Path) -> None:
    with a_server(tmp_path / "conversations.db", "--token", "secret") as server:
        api = server.api("secret")
        at = ["--url", api.url, "--token", "secret"]
        session_id = api.post("/chat", {"message": "one", "agent": "echo"}).json()["session_id"]

        written = turnkeeper("sessions", "export", session_id, "-o", str(tmp_path / "one.zip"), *at)
        whole = turnkeeper("users", "export", "local", "-o", str(tmp_path / "user.zip"), *at)
        unsure = turnkeeper("sessions", "erase", session_id, *at)
        erased = turnkeeper("sessions", "erase", session_id, "--yes", *at)
        gone = turnkeeper("sessions", "export", session_id, "-o", str(tmp_path / "none.zip"), *at)
        user = turnkeeper("users", "erase", "local", "--yes", *at)

    assert (written.returncode, whole.returncode, erased.returncode, user.returncode) == (0, 0, 0, 0)
    assert (unsure.returncode, gone.returncode) == (2, 1)
    assert "session.json" in zipfile.ZipFile(tmp_path / "one.zip").namelist()
    assert f"sessions/{session_id}/session.json" in zipfile.ZipFile(tmp_path / "user.zip").namelist()
    assert json.loads(erased.stdout)["subject"] == session_id
    assert not list(tmp_path.glob("none.zip*"))
