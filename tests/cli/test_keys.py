"""API keys in the terminal."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.inside import carried_out
from tests.server.process import ServerProcess, a_server
from turnkeeper.cli.keys import moment_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with a_server(tmp_path_factory.mktemp("keys") / "conversations.db", "--token", "open-sesame") as running:
        yield running


def test_a_key_is_made_used_listed_and_revoked(server: ServerProcess) -> None:
    flags = ("--url", server.url, "--token", "open-sesame")
    nothing = carried_out("keys", "list", *flags).stdout

    made = carried_out("keys", "create", "reports", "--limited-to", "*:read", "--expires", "90d", *flags)
    token = made.stdout.strip()
    read = carried_out("sessions", "list", "--url", server.url, "--token", token)
    listed = carried_out("keys", "list", *flags).stdout
    as_json = json.loads(carried_out("keys", "list", "--json", *flags).stdout)
    revoked = carried_out("keys", "revoke", as_json[0]["id"], *flags)
    after = carried_out("sessions", "list", "--url", server.url, "--token", token)

    assert nothing.startswith("There are no keys yet.")
    assert token.startswith("tk_")
    assert "shown this once" in made.stderr
    assert read.returncode == 0
    assert listed.split()[:5] == [as_json[0]["id"], "reports", "local", "(owner)", "until"]
    assert token not in listed
    assert revoked.stdout == f"{as_json[0]['id']} opens nothing any more.\n"
    assert (after.returncode, "token_revoked" in after.stderr) == (1, True)


def test_a_key_can_be_made_before_there_is_a_server(tmp_path: Path) -> None:
    database = tmp_path / "conversations.db"

    made = carried_out(
        "keys", "create", "first", "--user", "gus", "--role", "owner", "--tenant", "globex", "--per-second", "5",
        "--database", str(database), "--json",
    )  # fmt: skip
    key = json.loads(made.stdout)

    with a_server(database, "--token", "open-sesame") as server:
        me = server.api(key["token"]).client.get("/api/v1/me").json()
    assert (me["tenant"], me["user"], me["role"]) == ("globex", "gus", "owner")
    assert key["rate"] == {"per_second": 5.0, "burst": 10}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--expires", "soon"), "90d"),
        (("--burst", "3"), "--per-second"),
        (("--role", "king"), "/role"),
    ],
)
def test_a_key_that_cannot_be_meant_is_told(server: ServerProcess, arguments: tuple[str, ...], said: str) -> None:
    done = carried_out("keys", "create", "odd", *arguments, "--url", server.url, "--token", "open-sesame")

    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.parametrize(
    ("text", "span"),
    [("30m", timedelta(minutes=30)), ("12h", timedelta(hours=12)), ("90d", timedelta(days=90))],
)
def test_a_span_begins_now(text: str, span: timedelta) -> None:
    assert moment_of(text, NOON) == NOON + span


@pytest.mark.parametrize("text", ["2030-01-01T00:00:00Z", "2030-01-01"])
def test_a_moment_is_meant_as_it_is(text: str) -> None:
    assert moment_of(text, NOON) == datetime(2030, 1, 1, tzinfo=UTC)
