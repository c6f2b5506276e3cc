"""Bindings, contacts and deliveries from the terminal, on a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.inside import carried_out
from tests.server.process import ServerProcess, a_server

SECRET = "whsec_YSBzZWNyZXQ="


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("channels")
    settings = {"TURNKEEPER_OUTBOX_ATTEMPTS": "1"}
    with a_server(folder / "conversations.db", "--token", "secret", **settings) as running:
        yield running


def told(server: ServerProcess, *arguments: str, code: int = 0) -> str:
    """What a command prints."""
    done = carried_out(*arguments, "--url", server.url, "--token", "secret")
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_a_binding_is_made_shown_listed_and_removed(server: ServerProcess, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    flags = ["--guests", "--grant", "a:b", "--secret-file", str(secret), "--reply-secret-file", str(secret)]

    made = told(server, "bindings", "add", "webhook", "Orders", "--reply", "http://127.0.0.1:9/", *flags)
    id, address = made.split()
    shown = told(server, "bindings", "show", id)
    listed = told(server, "bindings", "list")
    removed = told(server, "bindings", "remove", id)

    assert address == f"/api/v1/channels/webhook/{id}"
    assert shown == (
        f"{id}  webhook  Orders\n"
        f"address    {address}\n"
        "agent      the default one\n"
        "pack       none\n"
        "strangers  guest\n"
        "grants     a:b\n"
        "auth       signature\n"
        "secrets    1\n"
        "settings   none\n"
        "reply      http://127.0.0.1:9/\n"
        "enabled    yes\n"
    )
    assert f"{id}  webhook  Orders  agent (default)  auth signature  reply http://127.0.0.1:9/\n" in listed
    assert removed == f"{id} is gone, with its contacts.\n"
    assert server.api("secret").get(f"/bindings/{id}").status_code == 404


def test_a_binding_that_cannot_be_is_refused_in_one_line(server: ServerProcess, tmp_path: Path) -> None:
    assert "There is no channel 'pigeon'. Known are: api, app_chat, email" in told(
        server, "bindings", "add", "pigeon", "x", code=1
    )
    missing = str(tmp_path / "nope")
    assert "No such file" in told(server, "bindings", "add", "sms", "x", "--secret-file", missing, code=1)


def test_a_binding_is_changed_and_its_settings_are_shown(server: ServerProcess) -> None:
    flags = ["--setting", "take_automatic=true", "--setting", "locale=de"]
    id = told(server, "bindings", "add", "email", "Mail", *flags).split()[0]

    changed = told(server, "bindings", "change", id, "--setting", "locale=fr", "--guests", "--no-enabled")

    assert changed == told(server, "bindings", "show", id)
    assert 'settings   locale="fr"  take_automatic=true\n' in changed
    assert "strangers  guest\n" in changed
    assert "enabled    no\n" in changed
    assert "(switched off)" in told(server, "bindings", "list")
    assert "/settings/locale" in told(server, "bindings", "change", id, "--setting", "locale=3", code=1)
    assert "--setting is name=value" in told(server, "bindings", "change", id, "--setting", "locale", code=2)


def test_a_reply_that_is_posted_needs_a_secret_to_sign_it_with(server: ServerProcess) -> None:
    refused = told(server, "bindings", "add", "email", "x", "--reply", "https://example.org/", code=2)

    assert "--reply-secret-file" in refused


def test_the_channels_and_the_contacts_of_a_binding_are_listed(server: ServerProcess) -> None:
    id = server.api("secret").post("/bindings", {"channel": "email", "name": "Mail"}).json()["id"]

    added = told(server, "contacts", "add", id, "Ann@example.org", "ann")

    assert {"email", "sms", "webhook"} <= set(told(server, "channels").split())
    assert added == told(server, "contacts", "list", id) == "ann@example.org  ann  (a new session)\n"
    assert told(server, "contacts", "remove", id, "ann@example.org") == "ann@example.org is known no longer.\n"
    assert "Nobody is known" in told(server, "contacts", "list", id)


def test_what_did_not_go_out_is_listed_and_sent_again(server: ServerProcess) -> None:
    api = server.api("secret")
    reply = {"kind": "http", "url": "http://127.0.0.1:9/", "secret": SECRET}
    terms = {"channel": "email", "name": "Mail", "strangers": "guest", "reply": reply}
    address = api.post("/bindings", terms).json()["address"]
    mail = b"From: ann@example.org\r\nMessage-ID: <1@x>\r\nSubject: Hi\r\n\r\nHello\r\n"
    session = api.client.post(f"{address}?wait=true", content=mail).json()["session_id"]
    while not (failed := told(server, "deliveries", "list", "--session", session, "--status", "failed")).startswith(
        "dlv_"
    ):
        assert failed.startswith("Nothing fits.")

    id = failed.split()[0]
    assert "failed  email  to ann@example.org  attempts 1  The receiver cannot be reached" in failed
    assert told(server, "deliveries", "retry", id) == f"{id} is pending: it is sent again.\n"
