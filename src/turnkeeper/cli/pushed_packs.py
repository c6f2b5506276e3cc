"""Packs on a server: pushing them, looking at them, and wanting their config otherwise."""

import json
from pathlib import Path
from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.packs import told_faults
from turnkeeper.cli.say import complain, counting, harmless, put_out
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


def list_packs(url: str | None, token: str | None) -> int:
    return with_server(url, token, _list)


def show_pack(ref: str, file: str | None, url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        pack = pushed_pack(talk, ref)
        if file is None:
            overrides = talk.asked("GET", f"/packs/{quote(pack['id'], safe=':')}/config")["overrides"]
            put_out(_summary(pack, overrides))
            return 0
        if file not in pack["files"]:
            return complain(f"{pack['ref']} has no file {file!r}. It has {', '.join(sorted(pack['files']))}.", code=1)
        put_out(pack["files"][file])
        return 0

    return with_server(url, token, show)


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


def _list(talk: HttpTalk) -> int:
    cursor: str | None = None
    while True:
        page = talk.asked("GET", "/packs" if cursor is None else f"/packs?cursor={quote(cursor, safe='')}")
        for pack in page["items"]:
            put_out(
                f"{pack['ref']}  {pack['hash'][:12]}  pushed {pack['pushed_at']} by {harmless(pack['pushed_by'])}\n"
            )
        if cursor is None and not page["items"]:
            put_out("There are no packs yet. Push one with: turnkeeper packs push FOLDER\n")
        cursor = page.get("next")
        if cursor is None:
            return 0


def _summary(pack: Told, overrides: list[Told]) -> str:
    lines = [
        f"{pack['ref']}  {' '.join(pack['title'].split())}",
        f"hash            {pack['hash']}",
        f"classification  {pack['classification']}",
        f"knowledge base  {pack['knowledge_base'] or 'none'}",
        *(f"override        {_override(each)}" for each in overrides),
        "",
        *(_intent_line(intent) for intent in pack["intents"]),
        "",
        f"{counting(len(pack['files']), 'file', 'files')}: {', '.join(sorted(pack['files']))}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _override(override: Told) -> str:
    value = override["value"] if isinstance(override["value"], str) else json.dumps(override["value"])
    return f"{override['key']} {harmless(value)}{'' if override['enabled'] else ' (switched off)'}"


def _intent_line(intent: Told) -> str:
    form = ", with a form" if intent["has_form"] else ""
    return f"{intent['code']}  {' '.join(intent['name'].split())}  ({' > '.join(intent['states'])}{form})"
