"""Tenants, users, projects, objectives, agents and models from the terminal, through a server."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, harmless, put_out
from turnkeeper.cli.talk import HttpTalk

_OWN = ("id", "name", "status", "role", "revision", "version", "has_code", "chat_model", "project_id")


class Unreadable(ValueError):
    """A file that should hold JSON does not."""


def list_of(kind: str, url: str | None, token: str | None, **sought: str | None) -> int:
    """One line each, all pages."""

    def work(talk: HttpTalk) -> int:
        cursor: str | None = None
        while True:
            query = urlencode({name: value for name, value in {**sought, "cursor": cursor}.items() if value})
            page = talk.asked("GET", f"/{kind}?{query}" if query else f"/{kind}")
            for item in page["items"]:
                put_out(f"{_line(item)}\n")
            cursor = page.get("next")
            if cursor is None:
                return 0

    return with_server(url, token, work)


def show(kind: str, id: str, url: str | None, token: str | None, *, tenant: str | None = None) -> int:
    """All of it, as JSON."""

    def work(talk: HttpTalk) -> int:
        found = talk.asked("GET", _of(kind, id, tenant))
        put_out(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return 0

    return with_server(url, token, work)


def send(
    method: str,
    kind: str,
    id: str | None,
    said: dict[str, Any],
    file: Path | None,
    url: str | None,
    token: str | None,
    *,
    under: str | None = "terms",
    tenant: str | None = None,
) -> int:
    """Make, put or change one, and print its line. What is in `file` is sent too, under its name or by itself."""
    try:
        read = {} if file is None else _read(file)
    except Unreadable as fault:
        return complain(str(fault))
    body = {name: value for name, value in said.items() if value is not None}
    if file is not None:
        body |= read if under is None else {under: read}

    def work(talk: HttpTalk) -> int:
        put_out(f"{_line(talk.asked(method, _of(kind, id, tenant), body))}\n")
        return 0

    return with_server(url, token, work)


def remove(kind: str, id: str, url: str | None, token: str | None) -> int:
    def work(talk: HttpTalk) -> int:
        talk.asked("DELETE", _of(kind, id, None))
        return 0

    return with_server(url, token, work)


def show_scope(session_id: str, url: str | None, token: str | None) -> int:
    """What a session inherited, from where, and what of it can be used."""

    def work(talk: HttpTalk) -> int:
        session = talk.asked("GET", f"/sessions/{session_id}")
        put_out(f"context {session['context_sha256']}\n")
        for link in session["context_chain"]:
            put_out(f"  from {link['level']} {link['id']} at revision {link['revision']}\n")
        given = session["provenance"]
        put_out(f"policy {session['policy']} ({given.get('policy', 'default')})\n")
        if session["model_profile"]:
            put_out(f"model {session['model_profile']} ({given.get('model_profile', 'default')})\n")
        for name, most in session["limits"].items():
            put_out(f"limit {name} {most:g} ({given.get(f'limits.{name}', 'default')})\n")
        for mount in session["mounts"]:
            put_out(f"{mount['kind']} {mount['id']} ({mount['source']}): {mount['state']}\n")
        return 0

    return with_server(url, token, work)


def rebase(session_id: str, url: str | None, token: str | None) -> int:
    def work(talk: HttpTalk) -> int:
        session = talk.asked("POST", f"/sessions/{session_id}/rebase")
        put_out(f"context {session['context_sha256']}\n")
        return 0

    return with_server(url, token, work)


def _of(kind: str, id: str | None, tenant: str | None) -> str:
    place = f"/{kind}" if id is None else f"/{kind}/{id}"
    return place if tenant is None else f"{place}?{urlencode({'tenant': tenant})}"


def _line(item: Mapping[str, Any]) -> str:
    first = item["id"]
    rest = [f"{name} {item[name]}" for name in _OWN[1:] if item.get(name) not in (None, "")]
    return harmless("  ".join([first, *(" ".join(str(each).split()) for each in rest)]))


def _read(file: Path) -> dict[str, Any]:
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Unreadable(f"{file}: {error.strerror}.") from None
    except ValueError:
        raise Unreadable(f"{file}: this is not JSON in UTF-8.") from None
    if not isinstance(read, dict):
        raise Unreadable(f"{file}: must hold an object.")
    return read
