"""Runs and what happens in sessions, from the terminal, with a real server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.inside import Done, carried_out
from tests.cli.terminal import Terminal, plain
from tests.server.process import ServerProcess, a_server
from turnkeeper.cli.sessions import moment_in_utc


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with a_server(tmp_path_factory.mktemp("runs") / "conversations.db", "--token", "secret-word") as running:
        yield running


def told(server: ServerProcess, *arguments: str, columns: int | None = None) -> Done:
    return carried_out(*arguments, "--url", server.url, "--token", "secret-word", columns=columns)


def as_json(server: ServerProcess, *arguments: str) -> Any:
    return json.loads(told(server, *arguments, "--json").stdout)


def test_a_question_is_seen_and_answered(server: ServerProcess) -> None:
    asked = server.api("secret-word").chat("Book", agent="asking")

    shown = told(server, "runs", "show", asked["run_id"])
    answered = told(server, "runs", "answer", asked["run_id"], "four")
    (run,) = as_json(server, "runs", "list", asked["session_id"])
    followed = told(server, "runs", "follow", asked["run_id"])
    again = told(server, "runs", "answer", asked["run_id"], "five")

    assert "status    waiting\n" in shown.stdout
    assert "asks      For how many?\n" in shown.stdout
    assert answered.stdout == "A table for four.\n"
    assert (run["id"], run["status"]) == (asked["run_id"], "completed")
    assert followed.stdout == "For how many?\nA table for four.\n"
    assert (again.returncode, "(run_not_waiting)" in again.stderr) == (1, True)


def test_a_run_that_failed_says_why_and_how_to_see_more(server: ServerProcess) -> None:
    api = server.api("secret-word")
    api.client.post("/api/v1/chat", json={"message": "Hello", "agent": "failing"})
    session = api.get("/sessions?agent=failing").json()["items"][0]["id"]
    (run,) = as_json(server, "runs", "list", session)

    listed = told(server, "runs", "list", session)
    followed = told(server, "runs", "follow", run["id"])
    unknown = told(server, "runs", "show", "run_nobody")

    assert listed.stdout.endswith("failing  agent_failed\n")
    assert followed.returncode == 1
    assert "The agent failed with RuntimeError" in followed.stderr
    assert f"turnkeeper explain {run['id']}" in followed.stderr
    assert (unknown.returncode, "(run_not_found)" in unknown.stderr) == (1, True)


def test_a_run_is_stopped(server: ServerProcess) -> None:
    asked = server.api("secret-word").chat("Book", agent="asking")

    stopped = told(server, "runs", "cancel", asked["run_id"])

    assert stopped.stdout == f"{asked['run_id']} is cancelled.\n"


def test_a_session_is_followed_from_its_beginning_until_somebody_has_seen_enough(server: ServerProcess) -> None:
    api = server.api("secret-word")
    session = api.chat("remember milk", agent="echo")["session_id"]
    where = ("--url", server.url, "--token", "secret-word")

    with Terminal("sessions", "tail", session, "--from", "start", *where, columns=80) as terminal:
        terminal.until("remember milk")
        terminal.until("I will remember: milk")
        told(server, "sessions", "reset", session)
        terminal.until("begins afresh: epoch 2")
        told(server, "sessions", "pause", session)
        terminal.until("paused by local")
        terminal.interrupt()

        assert terminal.ended() == 0
    with Terminal("sessions", "tail", session, "--from", "1", "--json", *where) as terminal:
        event = json.loads(plain(terminal.until("\r\n")))
        terminal.interrupt()

        assert terminal.ended() == 0
    assert (event["seq"], event["type"], event["data"]["text"]) == (2, "run.completed", "I will remember: milk")


def test_a_session_that_is_not_there_and_a_beginning_that_is_none_are_told(server: ServerProcess) -> None:
    missing = told(server, "sessions", "tail", "sess_nobody")
    odd = told(server, "sessions", "tail", "sess_nobody", "--from", "yesterday")

    assert (missing.returncode, "(session_not_found)" in missing.stderr) == (1, True)
    assert (odd.returncode, "--from is start or the number of an event" in odd.stderr) == (2, True)


def test_sessions_are_found_by_what_is_known_of_them(server: ServerProcess) -> None:
    titled = told(server, "sessions", "create", "--agent", "doing", "--title", "Harbour lights").stdout.strip()

    found = as_json(server, "sessions", "list", "--agent", "doing", "--owner", "local", "--title", "harbour")
    later = told(server, "sessions", "list", "--created-from", "2999-01-01")
    first = as_json(server, "sessions", "list", "--limit", "1")
    odd = told(server, "sessions", "list", "--active-until", "soon")
    none = told(server, "sessions", "list", "--limit", "0")

    assert [each["id"] for each in found] == [each["id"] for each in first] == [titled]
    assert later.stdout.startswith("Nothing fits.")
    assert (odd.returncode, "active_until" in odd.stderr) == (1, True)
    assert none.returncode == 2


@pytest.mark.parametrize(
    ("text", "sent"),
    [("2026-03-01", "2026-03-01T00:00:00+00:00"), ("2026-03-01T12:00+02:00", "2026-03-01T12:00:00+02:00")],
)
def test_a_day_is_meant_in_utc(text: str, sent: str) -> None:
    assert moment_in_utc(text) == sent


def test_every_list_fits_into_a_terminal_and_says_what_to_do_when_it_is_empty(server: ServerProcess) -> None:
    api = server.api("secret-word")
    session = api.post("/sessions", {"title": "A long title " * 10}).json()["id"]
    binding = api.post("/bindings", {"channel": "email", "name": "Mail"}).json()["id"]
    groups = ["approvals", "packs", "kbs", "keys", "bindings", "deliveries", "pointers", "seals", "sessions"]
    groups += ["tenants", "users", "projects", "objectives", "agents", "models"]
    lists = [[group, "list"] for group in groups]
    lists += [["channels"], ["runs", "list", session], ["units", "list", session], ["contacts", "list", binding]]
    lists += [["artifacts", "outputs", session]]

    shown = {" ".join(each): told(server, *each, columns=80) for each in lists}
    data = {" ".join(each): as_json(server, *each) for each in lists}

    assert {name: done.stderr for name, done in shown.items() if done.returncode} == {}
    assert [name for name, done in shown.items() if not done.stdout] == []
    assert [name for name, done in shown.items() if max(map(len, done.stdout.splitlines())) > 80] == []
    assert [name for name, found in data.items() if not isinstance(found, list)] == []
    assert session in shown["sessions list"].stdout
    assert "turnkeeper keys create NAME" in shown["keys list"].stdout


@pytest.mark.parametrize("kind", ["sessions", "scope"])
def test_a_session_is_shown_to_programs(server: ServerProcess, kind: str) -> None:
    session = server.api("secret-word").chat("remember milk", agent="echo")["session_id"]

    shown = as_json(server, kind, "show", session)

    assert shown["policy"] == "standard"
    assert kind == "scope" or shown["state"]["messages"][0]["content"] == "remember milk"


def test_a_running_house_can_be_looked_at(server: ServerProcess) -> None:
    reply = server.api("secret-word").chat("Hello", agent="symbolic")

    (listed,) = as_json(server, "runs", "list", reply["session_id"], "--status", "live,completed")
    nodes, traffic = told(server, "nodes"), told(server, "traffic")
    usage, limits = told(server, "usage", "--by", "day"), told(server, "limits")

    assert listed["id"] == reply["run_id"]
    assert ["alive" in nodes.stdout, "answers this" in nodes.stdout] == [True, True]
    assert ["99 of 100 within" in traffic.stdout, "app_chat" in traffic.stdout] == [True, True]
    assert "symbolic" in usage.stdout
    assert ["messages" in limits.stdout, "queue_limit" in limits.stdout] == [True, True]
    assert {done.returncode for done in (nodes, traffic, usage, limits)} == {0}
