"""Tenants, users, projects, objectives, agents and models from the terminal, through a server."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, put_out
from turnkeeper.cli.showing import Listing, named, put_rows, show_list, show_one, shown_facts
from turnkeeper.cli.talk import HttpTalk, Told

_OWN = ("name", "status", "role", "revision", "version", "has_code", "chat_model", "project_id")
_NONE = {
    "tenants": "There are no tenants yet. Make one with: turnkeeper tenants create ID NAME",
    "projects": "There are no projects yet. Make one with: turnkeeper projects create NAME",
    "objectives": "There are no objectives yet. Make one with: turnkeeper objectives create PROJECT NAME",
    "users": "Nobody has a role here yet. Give one with: turnkeeper users create ID ROLE",
    "agents": "There are no agents. Serve one with: turnkeeper serve --agent MODULE:FUNCTION",
    "models": "No profile is defined yet. Define one with: turnkeeper models put ID --file FILE",
}


class Unreadable(ValueError):
    """A file that should hold JSON does not."""


def list_of(kind: str, *, as_json: bool, url: str | None, token: str | None, **sought: str | None) -> int:
    listing = Listing(path=f"/{kind}", row=_row, query=sought, none=_NONE[kind])
    return show_list(listing, as_json=as_json, url=url, token=token)


def show(kind: str, id: str, *, as_json: bool, url: str | None, token: str | None, tenant: str | None = None) -> int:
    def read(talk: HttpTalk) -> Told:
        return talk.asked("GET", _of(kind, id, tenant))

    return show_one(read, _lines, as_json=as_json, url=url, token=token)


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
        put_rows([_row(talk.asked(method, _of(kind, id, tenant), body))], none="")
        return 0

    return with_server(url, token, work)


def remove(kind: str, id: str, url: str | None, token: str | None) -> int:
    def work(talk: HttpTalk) -> int:
        talk.asked("DELETE", _of(kind, id, None))
        return 0

    return with_server(url, token, work)


def show_scope(session_id: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    """What a session inherited, from where, and what of it can be used."""

    def read(talk: HttpTalk) -> Told:
        session = talk.asked("GET", named("sessions", session_id))
        return {name: session[name] for name in _INHERITED}

    return show_one(read, _scope_lines, as_json=as_json, url=url, token=token)


_INHERITED = ("context_sha256", "context_chain", "provenance", "policy", "model_profile", "limits", "mounts")


def _scope_lines(session: Told) -> str:
    given = session["provenance"]
    lines = [f"context {session['context_sha256']}"]
    lines += [
        f"  from {each['level']} {each['id']} at revision {each['revision']}" for each in session["context_chain"]
    ]
    lines.append(f"policy {session['policy']} ({given.get('policy', 'default')})")
    if session["model_profile"]:
        lines.append(f"model {session['model_profile']} ({given.get('model_profile', 'default')})")
    for name, most in session["limits"].items():
        lines.append(f"limit {name} {most:g} ({given.get(f'limits.{name}', 'default')})")
    lines += [f"{each['kind']} {each['id']} ({each['source']}): {each['state']}" for each in session["mounts"]]
    return "".join(f"{line}\n" for line in lines)


def rebase(session_id: str, url: str | None, token: str | None) -> int:
    def work(talk: HttpTalk) -> int:
        session = talk.asked("POST", named("sessions", session_id, "rebase"))
        put_out(f"context {session['context_sha256']}\n")
        return 0

    return with_server(url, token, work)


def _of(kind: str, id: str | None, tenant: str | None) -> str:
    place = f"/{kind}" if id is None else named(kind, id)
    return place if tenant is None else f"{place}?{urlencode({'tenant': tenant})}"


def _row(item: Mapping[str, Any]) -> list[str]:
    return [item["id"], *(_fact(name, item.get(name)) for name in _OWN)]


def _fact(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name.replace("_", " ") if value else ""
    return "" if value in (None, "") else f"{name} {value}"


def _lines(item: Told) -> str:
    return shown_facts({name.replace("_", " "): _value(value) for name, value in item.items()})


def _value(value: Any) -> str:
    """What was not said is left out; a structure is JSON, as a file for `--terms` would have it."""
    if value in (None, "", [], {}):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        said = {name: each for name, each in value.items() if each not in (None, [], {})}
        return json.dumps(said, indent=2, ensure_ascii=False) if said else ""
    if isinstance(value, list):
        return "\n".join(each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in value)
    return str(value)


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
