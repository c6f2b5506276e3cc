"""Channels on a server: its bindings, who is known behind them, and what went out."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, folded, put_out
from turnkeeper.cli.talk import HttpTalk, Told


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedBinding:
    """A binding as the command line asks for it; None leaves a term as it is, or to its default.

    Secrets come from files: a command line is seen by everybody.
    """

    channel: str | None = None
    name: str | None = None
    agent: str | None = None
    pack: str | None = None
    lets_guests_in: bool | None = None
    grants: tuple[str, ...] | None = None
    settings: tuple[str, ...] = ()
    secret_file: Path | None = None
    reply: str | None = None
    reply_secret_file: Path | None = None
    enabled: bool | None = None

    def body(self) -> dict[str, Any]:
        """Raises ValueError for what cannot be, OSError or UnicodeDecodeError for a file that cannot be read."""
        strangers = {None: None, True: "guest", False: "refuse"}[self.lets_guests_in]
        body: dict[str, Any] = {
            "channel": self.channel,
            "name": self.name,
            "agent": self.agent,
            "pack": self.pack,
            "strangers": strangers,
            "grants": None if self.grants is None else list(self.grants),
            "settings": dict(map(_setting, self.settings)) or None,
            "reply": None if self.reply is None else self._reply(self.reply),
            "enabled": self.enabled,
        }
        if self.secret_file is not None:
            body |= {"auth": "signature", "secrets": [_secret(self.secret_file)]}
        return {name: value for name, value in body.items() if value is not None}

    def _reply(self, reply: str) -> dict[str, Any]:
        if reply in ("smtp", "none"):
            return {"kind": reply}
        if self.reply_secret_file is None:
            raise ValueError("Replies that are posted are signed: give --reply-secret-file, too.")
        return {"kind": "http", "url": reply, "secret": _secret(self.reply_secret_file)}


def list_channels(url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        found: Any = talk.asked("GET", "/channels")
        put_out("".join(f"{channel['name']}\n" for channel in found))
        return 0

    return with_server(url, token, show)


def list_bindings(url: str | None, token: str | None) -> int:
    return with_server(
        url,
        token,
        lambda talk: _list(
            talk, "/bindings", _binding_line, "There are no bindings yet. Make one with: turnkeeper bindings add\n"
        ),
    )


def show_binding(binding_id: str, url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        put_out(_binding_lines(talk.asked("GET", f"/bindings/{quote(binding_id, safe='')}")))
        return 0

    return with_server(url, token, show)


def add_binding(wanted: WantedBinding, url: str | None, token: str | None) -> int:
    def add(talk: HttpTalk, body: dict[str, Any]) -> int:
        made = talk.asked("POST", "/bindings", body)
        put_out(f"{made['id']}  {made['address']}\n")
        return 0

    return _with_body(wanted, url, token, add)


def change_binding(binding_id: str, wanted: WantedBinding, url: str | None, token: str | None) -> int:
    def change(talk: HttpTalk, body: dict[str, Any]) -> int:
        path = f"/bindings/{quote(binding_id, safe='')}"
        if "settings" in body:
            body["settings"] = talk.asked("GET", path)["settings"] | body["settings"]
        put_out(_binding_lines(talk.asked("PATCH", path, body)))
        return 0

    return _with_body(wanted, url, token, change)


def _with_body(
    wanted: WantedBinding, url: str | None, token: str | None, work: Callable[[HttpTalk, dict[str, Any]], int]
) -> int:
    try:
        body = wanted.body()
    except OSError as error:
        return complain(f"{error.filename}: {error.strerror}.", code=1)
    except UnicodeDecodeError:
        return complain("The file with the secret is not a text.", code=1)
    except ValueError as error:
        return complain(str(error))
    return with_server(url, token, lambda talk: work(talk, body))


def remove_binding(binding_id: str, url: str | None, token: str | None) -> int:
    def remove(talk: HttpTalk) -> int:
        talk.asked("DELETE", f"/bindings/{quote(binding_id, safe='')}")
        put_out(f"{binding_id} is gone, with its contacts.\n")
        return 0

    return with_server(url, token, remove)


def add_contact(
    binding_id: str, address: str, user: str, session: str | None, url: str | None, token: str | None
) -> int:
    def add(talk: HttpTalk) -> int:
        body = {"address": address, "user": user, **({"session_id": session} if session else {})}
        put_out(_contact_line(talk.asked("PUT", f"/bindings/{quote(binding_id, safe='')}/contacts", body)))
        return 0

    return with_server(url, token, add)


def list_contacts(binding_id: str, url: str | None, token: str | None) -> int:
    path, none = f"/bindings/{quote(binding_id, safe='')}/contacts", "Nobody is known at this binding yet.\n"
    return with_server(url, token, lambda talk: _list(talk, path, _contact_line, none))


def remove_contact(binding_id: str, address: str, url: str | None, token: str | None) -> int:
    def remove(talk: HttpTalk) -> int:
        path = f"/bindings/{quote(binding_id, safe='')}/contacts?address={quote(address, safe='')}"
        talk.asked("DELETE", path)
        put_out(f"{address} is known no longer.\n")
        return 0

    return with_server(url, token, remove)


def list_deliveries(session: str | None, status: str | None, url: str | None, token: str | None) -> int:
    asked = {"session_id": session, "status": status}
    query = _query({name: value for name, value in asked.items() if value is not None})
    none = "Nothing fits.\n" if query else "Nothing went out.\n"
    return with_server(url, token, lambda talk: _list(talk, f"/deliveries{query}", _delivery_line, none))


def retry_delivery(delivery_id: str, url: str | None, token: str | None) -> int:
    def retry(talk: HttpTalk) -> int:
        again = talk.asked("POST", f"/deliveries/{quote(delivery_id, safe='')}/retry")
        put_out(f"{again['id']} is {again['status']}: it is sent again.\n")
        return 0

    return with_server(url, token, retry)


def _list(talk: HttpTalk, path: str, line: Callable[[Told], str], none: str) -> int:
    cursor: str | None = None
    while True:
        more = "" if cursor is None else f"{'&' if '?' in path else '?'}cursor={quote(cursor, safe='')}"
        page = talk.asked("GET", path + more)
        put_out("".join(f"{folded(line(each).rstrip())}\n" for each in page["items"]))
        if cursor is None and not page["items"]:
            put_out(none)
        cursor = page.get("next")
        if cursor is None:
            return 0


def _query(asked: dict[str, str]) -> str:
    said = "&".join(f"{name}={quote(value, safe='')}" for name, value in asked.items())
    return f"?{said}" if said else ""


def _binding_line(binding: Told) -> str:
    state = "" if binding["enabled"] else "  (switched off)"
    terms = f"agent {binding['agent'] or '(default)'}  auth {binding['auth']}  reply {_reply_of(binding)}"
    return f"{_titled(binding)}  {terms}{state}\n"


def _titled(binding: Told) -> str:
    return f"{binding['id']}  {binding['channel']}  {' '.join(binding['name'].split())}"


def _reply_of(binding: Told) -> str:
    return str(binding["reply"]["url"] or binding["reply"]["kind"])


def _binding_lines(binding: Told) -> str:
    settings = binding["settings"]
    told = {
        "address": binding["address"],
        "agent": binding["agent"] or "the default one",
        "pack": binding["pack"] or "none",
        "strangers": binding["strangers"],
        "grants": ", ".join(binding["grants"]) or "none",
        "auth": binding["auth"],
        "secrets": str(binding["secrets"]),
        "settings": "  ".join(f"{name}={json.dumps(settings[name])}" for name in sorted(settings)) or "none",
        "reply": _reply_of(binding),
        "enabled": "yes" if binding["enabled"] else "no",
    }
    return f"{_titled(binding)}\n" + "".join(f"{name:10}  {value}\n" for name, value in told.items())


def _contact_line(contact: Told) -> str:
    return f"{contact['address']}  {contact['user']}  {contact['session_id'] or '(a new session)'}\n"


def _delivery_line(delivery: Told) -> str:
    why = f"  {delivery['error']}" if delivery["error"] else ""
    at = datetime.fromisoformat(delivery["created_at"])
    return (
        f"{delivery['id']}  {at:%Y-%m-%d %H:%M:%S}  {delivery['status']}  {delivery['channel']}  to {delivery['to']}  "
        f"attempts {delivery['attempts']}{why}\n"
    )


def _setting(written: str) -> tuple[str, Any]:
    """`name=value`, where a value that is JSON is what it says, and any other is a text. Raises ValueError."""
    name, equals, value = written.partition("=")
    if not name or not equals:
        raise ValueError(f"--setting is name=value, not {written!r}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _secret(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip()
