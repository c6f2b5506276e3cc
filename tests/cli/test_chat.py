"""Talking in the terminal."""

import socket
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal, turnkeeper
from tests.server.process import ServerProcess, a_server, agent_flags, everything_in


def test_a_pipe_sends_a_message_a_line_and_gets_the_answers(tmp_path: Path) -> None:
    with a_server(tmp_path / "x.db", "--token", "sesame-open") as server:
        talked = turnkeeper(
            "chat", "--url", server.url, "--token", "sesame-open", said="remember milk\n\nWhat did I say?\n"
        )

    assert talked.returncode == 0, talked.stderr
    assert talked.stdout == "I will remember: milk\nYou asked me to remember: milk\n"
    assert talked.stderr.startswith("session sess_")


def test_a_pipe_may_talk_without_a_server(tmp_path: Path) -> None:
    talked = turnkeeper("chat", "--database", str(tmp_path / "x.db"), said="Hello\n/reset\nAgain\n")

    assert talked.returncode == 0, talked.stderr
    assert talked.stdout == (
        "You said 'Hello'. This is turn 1 of our conversation.\nYou said 'Again'. This is turn 2 of our conversation.\n"
    )


def test_a_session_is_gone_on_with(tmp_path: Path) -> None:
    database = str(tmp_path / "x.db")
    first = turnkeeper("chat", "--database", database, said="remember milk\n")
    session_id = first.stderr.split()[1]

    second = turnkeeper("chat", "--database", database, "--session", session_id, said="what did i say?\n")

    assert second.stdout == "You asked me to remember: milk\n"


def test_a_server_on_the_same_database_is_found_without_its_token(tmp_path: Path) -> None:
    with ServerProcess("--port", "0", "--database", str(tmp_path / "turnkeeper.db")) as server:
        note = tmp_path / "turnkeeper.db-server"
        mode = note.stat().st_mode & 0o777
        talked = turnkeeper("chat", said="Hello\n", cwd=tmp_path)
        by_address = turnkeeper("chat", "--url", server.url, said="Hello\n", cwd=tmp_path)
        assert server.stop() == 0

    assert (talked.returncode, by_address.returncode) == (0, 0), talked.stderr
    assert talked.stdout == by_address.stdout == "Hello! Tell me what I should know, or ask me something.\n"
    assert mode == 0o600
    assert not note.exists()


def test_no_server_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"

        talked = turnkeeper("chat", "--url", url, said="Hello\n", cwd=tmp_path)

    assert talked.returncode == 1
    assert talked.stdout == ""
    assert talked.stderr == f"turnkeeper: No server answers at {url}. Start one with: turnkeeper serve\n"


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://", "not a url"])
def test_an_address_that_is_none_is_said_in_one_line(tmp_path: Path, url: str) -> None:
    talked = turnkeeper("chat", "--url", url, said="Hello\n", cwd=tmp_path)

    assert talked.returncode == 1
    assert talked.stderr.startswith("turnkeeper: ")
    assert "Traceback" not in talked.stderr


def test_a_wrong_token_is_told(tmp_path: Path) -> None:
    with a_server(tmp_path / "x.db", "--token", "sesame-open") as server:
        talked = turnkeeper("chat", "--url", server.url, "--token", "sesame-shut", said="Hello\nAgain\n")

    assert talked.returncode == 1
    assert talked.stderr.count("(unauthenticated)") == 1


def test_a_refused_message_is_told_and_the_next_one_sent(tmp_path: Path) -> None:
    talked = turnkeeper("chat", "--database", str(tmp_path / "x.db"), "--agent", "nobody", said="Hello\nAgain\n")

    assert talked.returncode == 1
    assert talked.stderr.count("(agent_not_found)") == 2


def test_a_failed_answer_is_told_and_the_conversation_goes_on(tmp_path: Path) -> None:
    flags = ["--port", "0", "--database", str(tmp_path / "x.db"), "--token", "sesame-open", *agent_flags()]
    with ServerProcess(*flags) as server:
        reach = ["--url", server.url, "--token", "sesame-open", "--agent", "failing"]
        talked = turnkeeper("chat", *reach, said="Hello\n")

    assert talked.returncode == 1
    assert "The agent failed with RuntimeError" in talked.stderr
    assert f"explain --url {server.url} run_" in talked.stderr
    assert "secret words" not in talked.stderr


def test_a_question_is_answered_by_the_next_line(tmp_path: Path) -> None:
    flags = ["--port", "0", "--database", str(tmp_path / "x.db"), "--token", "sesame-open", *agent_flags()]
    with ServerProcess(*flags) as server:
        reach = ["--url", server.url, "--token", "sesame-open", "--agent", "asking"]
        talked = turnkeeper("chat", *reach, said="Book\nfour\n")

    assert talked.stdout == "For how many?\nA table for four.\n"
    assert talked.returncode == 0, talked.stderr


def test_a_long_answer_is_shown_once(tmp_path: Path) -> None:
    flags = ["--port", "0", "--database", str(tmp_path / "x.db"), "--token", "sesame-open", *agent_flags()]
    with ServerProcess(*flags) as server:
        reach = ["--url", server.url, "--token", "sesame-open", "--agent", "streamer"]
        talked = turnkeeper("chat", *reach, said="Go\n")

    assert talked.stdout.count("0000") == talked.stdout.count("0002") == 1
    assert len(talked.stdout) == 3 * 2_100 + 1


def test_a_person_talks_asks_why_and_leaves(tmp_path: Path) -> None:
    with Terminal("chat", "--database", str(tmp_path / "x.db")) as terminal:
        terminal.until("> ")
        terminal.type("Hello\n")
        terminal.until("session sess_")
        terminal.until("This is turn 1 of our conversation.")
        terminal.until("> ")
        terminal.type("/why\n")
        terminal.until("completed")
        terminal.until("hand_off")
        terminal.until("> ")
        terminal.type("/quit\n")

        assert terminal.ended() == 0
        assert f"chat --database {tmp_path / 'x.db'} --session sess_" in terminal.seen


def test_a_person_sees_what_was_learned_used_and_wanted(tmp_path: Path) -> None:
    flags = ["--database", str(tmp_path / "x.db"), "--agent", "symbolic", "--pack", "table-booking"]
    with Terminal("chat", *flags) as terminal:
        terminal.until("> ")
        terminal.type("/units\n")
        terminal.until("Nothing is known yet.")
        terminal.type("A table tomorrow\n")
        terminal.until("agent symbolic")
        terminal.until("BOOK_TABLE · DETAILS · still needs party_size, time, name, phone")
        terminal.type("/intent\n")
        terminal.until("missing    party_size, time, name, phone")
        terminal.type("/quit\n")

        assert terminal.ended() == 0
    with Terminal("chat", *flags[:4]) as terminal:
        terminal.until("> ")
        terminal.type("The ferry leaves at six.\n")
        terminal.until("1 unit learned")
        terminal.type("When does the ferry leave?\n")
        terminal.until("1 unit used")
        terminal.type("/units\n")
        terminal.until("turn 1  Description  The ferry leaves at six.")
        terminal.type("/quit\n")

        assert terminal.ended() == 0


def test_a_person_stops_an_answer_and_talks_on(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    with a_server(database, "--token", "sesame-open") as server:
        reach = ["--url", server.url, "--token", "sesame-open", "--agent", "asking"]
        with Terminal("chat", *reach) as terminal:
            terminal.until("> ")
            terminal.type("Book\n")
            terminal.until("For how many?")
            terminal.until("It asks back")
            terminal.until("? ")
            terminal.type("four\n")
            terminal.until("A table for four.")
            terminal.until("> ")
        session_id = everything_in(database)["sessions"][0][1]
        endless = [*reach[:4], "--agent", "endless", "--session", session_id]
        with Terminal("chat", *endless) as terminal:
            terminal.until("> ")
            terminal.type("Go\n")
            terminal.until("and so on")
            terminal.interrupt()
            terminal.until("Stopped.")
            terminal.until("> ")
            terminal.type("/quit\n")

            assert terminal.ended() == 0
        runs = server.api("sesame-open").get(f"/sessions/{session_id}/runs").json()["items"]

    assert [run["status"] for run in runs] == ["cancelled", "completed"]


def test_a_person_leaves_with_the_end_of_input_before_saying_anything(tmp_path: Path) -> None:
    with Terminal("chat", "--database", str(tmp_path / "x.db")) as terminal:
        terminal.until("> ")
        terminal.type("\x04")

        assert terminal.ended() == 0
    assert everything_in(tmp_path / "x.db")["sessions"] == []


def test_what_an_agent_says_cannot_steer_the_terminal(tmp_path: Path) -> None:
    with Terminal("chat", "--database", str(tmp_path / "x.db")) as terminal:
        terminal.until("> ")
        terminal.type("remember \x16\x1b[31mred\n")
        terminal.until("I will remember: ")

        assert terminal.until("red").replace("\r", "") == "[31m"


def test_a_server_and_a_database_at_once_are_refused() -> None:
    talked = turnkeeper("chat", "--url", "http://127.0.0.1:1", "--database", "x.db")

    assert talked.returncode == 2
    assert "not both" in talked.stderr


def test_a_command_that_is_none_is_told_to_a_person_and_not_sent(tmp_path: Path) -> None:
    with Terminal("chat", "--database", str(tmp_path / "x.db")) as terminal:
        terminal.until("/help")
        terminal.type("/foo\r")
        terminal.until("There is no command /foo.")
        terminal.type("/quit\r")

        assert terminal.ended() == 0
        assert "Go on later" not in terminal.seen


def test_a_refused_message_says_what_is_wrong_with_it_without_a_server_too(tmp_path: Path) -> None:
    talked = turnkeeper("chat", "--database", str(tmp_path / "x.db"), "--session", "no id", said="Hello\n")

    assert "session_id: " in talked.stderr
