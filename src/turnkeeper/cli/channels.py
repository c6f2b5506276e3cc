"""Channels on a server: its bindings, who is known behind them, and what went out."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, put_out
from turnkeeper.cli.talk import HttpTalk, Told


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedBinding:
    """A binding as the command line asks for it. Secrets come from files: a command line is seen by everybody."""

    channel: str
    name: str
    agent: str | None
    pack: str | None
    lets_guests_in: bool
    grants: tuple[str, ...]
    secret_file: Path | None
    reply: str
    reply_secret_file: Path | None

    def body(self) -> dict[str, Any]:
        """Raises OSError or UnicodeDecodeError for a file that cannot be read."""
        body: dict[str, Any] = {
            "channel": self.channel,
            "name": self.name,
            "strangers": "guest" if self.lets_guests_in else "refuse",
            "grants": list(self.grants),
            "reply": self._reply(),
        }
        if self.secret_file is not None:
            body |= {"auth": "signature", "secrets": [_secret(self.secret_file)]}
        return body | {name: value for name in ("agent", "pack") if (value := getattr(self, name)) is not None}

    def _reply(self) -> dict[str, Any]:
        if self.reply in ("smtp", "none"):
            return {"kind": self.reply}
        posted = {"kind": "http", "url": self.reply}
        return posted if self.reply_secret_file is None else posted | {"secret": _secret(self.reply_secret_file)}


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
    try:
        body = wanted.body()
    except OSError as error:
        return complain(f"{error.filename}: {error.strerror}.", code=1)
    except UnicodeDecodeError:
        return complain("The file with the secret is not a text.", code=1)

    def add(talk: HttpTalk) -> int:
        made = talk.asked("POST", "/bindings", body)
        put_out(f"{made['id']}  {made['address']}\n")
        return 0

    return with_server(url, token, add)


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


def list_deliveries(session: str | None, status: str | None, url: str | None, token: str | None) -> int:
    asked = {"session_id": session, "status": status}
    path = "/deliveries" + _query({name: value for name, value in asked.items() if value is not None})
    return with_server(url, token, lambda talk: _list(talk, path, _delivery_line, "Nothing went out.\n"))


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
        put_out("".join(line(each) for each in page["items"]))
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
    return f"{binding['id']}  {binding['channel']}  {' '.join(binding['name'].split())}{state}\n"


def _binding_lines(binding: Told) -> str:
    reply = binding["reply"]
    told = {
        "address": binding["address"],
        "agent": binding["agent"] or "the default one",
        "pack": binding["pack"] or "none",
        "strangers": binding["strangers"],
        "grants": ", ".join(binding["grants"]) or "none",
        "auth": binding["auth"],
        "secrets": str(binding["secrets"]),
        "reply": reply["url"] or reply["kind"],
    }
    return _binding_line(binding) + "".join(f"{name:10}  {value}\n" for name, value in told.items())


def _contact_line(contact: Told) -> str:
    return f"{contact['address']}  {contact['user']}  {contact['session_id'] or '(a new session)'}\n"


def _delivery_line(delivery: Told) -> str:
    why = f"  {delivery['error']}" if delivery["error"] else ""
    return (
        f"{delivery['id']}  {delivery['status']}  {delivery['channel']}  to {delivery['to']}  "
        f"attempts {delivery['attempts']}{why}\n"
    )


def _secret(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip()
