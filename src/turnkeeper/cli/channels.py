"""Channels on a server: its bindings, who is known behind them, and what went out."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, put_out
from turnkeeper.cli.showing import Listing, named, put_rows, show_list, show_one, shown_facts
from turnkeeper.cli.tables import moment
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


def list_channels(*, as_json: bool, url: str | None, token: str | None) -> int:
    listing = Listing(path="/channels", row=lambda channel: [channel["name"]], none="There are no channels.")
    return show_list(listing, as_json=as_json, url=url, token=token)


def list_bindings(*, as_json: bool, url: str | None, token: str | None) -> int:
    none = "There are no bindings yet. Make one with: turnkeeper bindings add CHANNEL NAME"
    return show_list(Listing(path="/bindings", row=_binding_row, none=none), as_json=as_json, url=url, token=token)


def show_binding(binding_id: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    def read(talk: HttpTalk) -> Told:
        return talk.asked("GET", named("bindings", binding_id))

    return show_one(read, _binding_lines, as_json=as_json, url=url, token=token)


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
        put_rows([_contact_row(talk.asked("PUT", named("bindings", binding_id, "contacts"), body))], none="")
        return 0

    return with_server(url, token, add)


def list_contacts(binding_id: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    none = "Nobody is known at this binding yet. Make someone known with: turnkeeper contacts add"
    listing = Listing(path=named("bindings", binding_id, "contacts"), row=_contact_row, none=none)
    return show_list(listing, as_json=as_json, url=url, token=token)


def remove_contact(binding_id: str, address: str, url: str | None, token: str | None) -> int:
    def remove(talk: HttpTalk) -> int:
        path = f"/bindings/{quote(binding_id, safe='')}/contacts?address={quote(address, safe='')}"
        talk.asked("DELETE", path)
        put_out(f"{address} is known no longer.\n")
        return 0

    return with_server(url, token, remove)


def list_deliveries(
    session: str | None, status: str | None, *, as_json: bool, url: str | None, token: str | None
) -> int:
    query = {"session_id": session, "status": status}
    none = "Nothing went out yet. What answers to mail, messages and webhooks does: turnkeeper bindings add"
    listing = Listing(path="/deliveries", row=_delivery_row, query=query, none=none)
    return show_list(listing, as_json=as_json, url=url, token=token)


def retry_delivery(delivery_id: str, url: str | None, token: str | None) -> int:
    def retry(talk: HttpTalk) -> int:
        again = talk.asked("POST", f"/deliveries/{quote(delivery_id, safe='')}/retry")
        put_out(f"{again['id']} is {again['status']}: it is sent again.\n")
        return 0

    return with_server(url, token, retry)


def _binding_row(binding: Told) -> list[str]:
    agent, state = binding["agent"] or "(default)", "" if binding["enabled"] else "(switched off)"
    terms = [f"agent {agent}", f"auth {binding['auth']}", f"reply {_reply_of(binding)}"]
    return [binding["id"], binding["channel"], binding["name"], *terms, state]


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
    return f"{_titled(binding)}\n" + shown_facts(told)


def _contact_row(contact: Told) -> list[str]:
    return [contact["address"], contact["user"], contact["session_id"] or "(a new session)"]


def _delivery_row(delivery: Told) -> list[str]:
    at, to, attempts = moment(delivery["created_at"]), f"to {delivery['to']}", f"attempts {delivery['attempts']}"
    return [delivery["id"], at, delivery["status"], delivery["channel"], to, attempts, delivery["error"] or ""]


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
