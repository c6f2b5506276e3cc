"""Packs on a server: pushing them, looking at them, and wanting their config otherwise."""

import json
from pathlib import Path
from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.packs import told_faults
from turnkeeper.cli.say import complain, counting, harmless, put_out
from turnkeeper.cli.showing import Listing, show_list, show_one, shown_facts
from turnkeeper.cli.tables import moment, table, terminal_columns
from turnkeeper.cli.talk import HttpTalk, Told
from turnkeeper.model.pack_config import config_keys
from turnkeeper.packs.faults import meant_instead
from turnkeeper.packs.files import read_files
from turnkeeper.packs.reading import read_pack


def push_pack(path: Path, url: str | None, token: str | None) -> int:
    """Faults are told here as `packs check` tells them; only a pack without any is sent."""
    files, faults = read_files(path)
    pack = None
    if not faults:
        pack, faults = read_pack(files)
    put_out("".join(f"{line}\n" for line in told_faults(str(path), faults)))
    if pack is None:
        return complain("Nothing was pushed. Correct the faults above.", code=1)

    def push(talk: HttpTalk) -> int:
        pushed = talk.asked("POST", "/packs", {"files": files})
        put_out(f"{pushed['ref']}  {pushed['hash']}\n")
        return 0

    return with_server(url, token, push)


def list_packs(*, as_json: bool, url: str | None, token: str | None) -> int:
    none = "There are no packs yet. Push one with: turnkeeper packs push FOLDER"
    return show_list(Listing(path="/packs", row=_row, none=none), as_json=as_json, url=url, token=token)


def show_pack(ref: str, file: str | None, *, as_json: bool, url: str | None, token: str | None) -> int:
    if file is not None:
        return with_server(url, token, lambda talk: _show_file(pushed_pack(talk, ref), file))

    def read(talk: HttpTalk) -> Told:
        pack = pushed_pack(talk, ref)
        return {**pack, "overrides": talk.asked("GET", f"/packs/{quote(pack['id'], safe=':')}/config")["overrides"]}

    return show_one(read, _summary, as_json=as_json, url=url, token=token)


def _show_file(pack: Told, file: str) -> int:
    if file not in pack["files"]:
        return complain(f"{pack['ref']} has no file {file!r}. It has {', '.join(sorted(pack['files']))}.", code=1)
    put_out(pack["files"][file])
    return 0


def set_override(pack_id: str, key: str, value: str, *, enabled: bool, url: str | None, token: str | None) -> int:
    def override(talk: HttpTalk) -> int:
        talk.asked("PUT", _config(pack_id, key), {"value": value, "enabled": enabled})
        state = "set to" if enabled else "kept, but switched off, as"
        put_out(f"{pack_id}: {key} {state} {value}\n")
        return 0

    return with_server(url, token, override)


def drop_override(pack_id: str, key: str, url: str | None, token: str | None) -> int:
    if key not in config_keys():
        return complain(f"There is no key {key!r} in the config of a pack. {meant_instead(key, config_keys())}", code=1)

    def drop(talk: HttpTalk) -> int:
        talk.asked("DELETE", _config(pack_id, key))
        put_out(f"{pack_id}: {key} is as the pack says\n")
        return 0

    return with_server(url, token, drop)


def pushed_pack(talk: HttpTalk, ref: str) -> Told:
    return talk.asked("GET", f"/packs/{quote(ref, safe='@:')}")


def _config(pack_id: str, key: str) -> str:
    return f"/packs/{quote(pack_id, safe=':')}/config/{quote(key, safe='')}"


def _row(pack: Told) -> list[str]:
    pushed = f"pushed {moment(pack['pushed_at'])} by {pack['pushed_by']}"
    return [pack["ref"], pack["hash"][:12], pushed]


def _summary(pack: Told) -> str:
    head = {
        "hash": pack["hash"],
        "classification": pack["classification"],
        "knowledge base": pack["knowledge_base"] or "none",
        "override": "\n".join(_override(each) for each in pack["overrides"]),
    }
    intents = table([_intent_row(intent) for intent in pack["intents"]], terminal_columns())
    counted = counting(len(pack["files"]), "file:", "files:")
    files = shown_facts({counted: ", ".join(sorted(pack["files"]))})
    titled = table([[pack["ref"], pack["title"]]], terminal_columns())
    return f"{titled}{shown_facts(head)}\n{intents}\n{files}"


def _override(override: Told) -> str:
    value = override["value"] if isinstance(override["value"], str) else json.dumps(override["value"])
    return f"{override['key']} {harmless(value)}{'' if override['enabled'] else ' (switched off)'}"


def _intent_row(intent: Told) -> list[str]:
    form = ", with a form" if intent["has_form"] else ""
    return [intent["code"], intent["name"], f"({' > '.join(intent['states'])}{form})"]
