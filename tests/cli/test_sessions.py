"""Sessions from the terminal, with a real server."""

from pathlib import Path

from tests.cli.terminal import turnkeeper
from tests.server.process import a_server


def test_a_session_is_shown_as_it_was_and_forked(tmp_path: Path) -> None:
    with a_server(tmp_path / "conversations.db", "--token", "secret") as server:
        api = server.api("secret")
        at = ["--url", api.url, "--token", "secret"]
        session_id = api.post("/chat", {"message": "one", "agent": "echo"}).json()["session_id"]
        api.post("/chat", {"message": "two", "session_id": session_id})

        shown = turnkeeper("sessions", "show", session_id, "--turn", "1", *at)
        forked = turnkeeper("sessions", "fork", session_id, "--at-turn", "1", "--title", "Again", *at)
        missing = turnkeeper("sessions", "fork", session_id, "--at-turn", "9", *at)
        again = turnkeeper("sessions", "show", forked.stdout.strip(), *at)

    assert (shown.returncode, forked.returncode, missing.returncode) == (0, 0, 1)
    assert "turn         1 of 2, epoch 1" in shown.stdout
    assert "user:       one" in shown.stdout
    assert "two" not in shown.stdout
    assert f"forked from  {session_id}" in again.stdout
    assert "has no turn 9" in missing.stderr
