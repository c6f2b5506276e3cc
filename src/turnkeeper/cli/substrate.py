"""Artifacts, manifests and pointers from the terminal, through a server; and clearing up in a database."""

import asyncio
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.local import local_file_of
from turnkeeper.cli.say import complain, counting, put_out
from turnkeeper.cli.settled import own_settings
from turnkeeper.cli.showing import Listing, named, put_rows, show_list, show_one
from turnkeeper.cli.tables import moment, table, terminal_columns
from turnkeeper.cli.talk import HttpTalk, Told
from turnkeeper.errors import TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.settings import Settings

CHUNK_BYTES = 262_144


def keep_files(files: Sequence[Path], url: str | None, token: str | None) -> int:
    """Each file becomes an artifact; its hash is printed before its name, as `sha256sum` does."""

    def keep(talk: HttpTalk) -> int:
        for file in files:
            kept = _keep(talk, file)
            put_out(f"{kept['sha256']}  {file}\n")
        return 0

    return _reading(lambda: with_server(url, token, keep))


def get_content(artifact: str, into: Path | None, url: str | None, token: str | None) -> int:
    """Write the content to a file or to standard output, and see that it is what was kept."""

    def get(talk: HttpTalk) -> int:
        known = talk.asked("GET", f"/artifacts/{artifact}")
        seen = hashlib.sha256()
        out = sys.stdout.buffer if into is None else into.open("wb")
        try:
            for chunk in talk.content(f"/artifacts/{artifact}/content"):
                seen.update(chunk)
                out.write(chunk)
            out.flush()
        finally:
            if into is not None:
                out.close()
        if seen.hexdigest() != known["sha256"]:
            return complain("What came is not what was kept. Ask again.", code=1)
        return 0

    return _reading(lambda: with_server(url, token, get))


def make_manifest(
    files: Sequence[Path], root: Path, parent: str | None, message: str | None, url: str | None, token: str | None
) -> int:
    """Keep files and folders, and make a manifest of them by their paths below `root`."""

    def make(talk: HttpTalk) -> int:
        entries = [
            {"path": file.resolve().relative_to(root.resolve()).as_posix(), "sha256": _keep(talk, file)["sha256"]}
            for file in _all_files(files)
        ]
        given = {"parent": parent, "message": message}
        body = {"entries": entries, **{name: value for name, value in given.items() if value is not None}}
        made = talk.asked("POST", "/manifests", body)
        put_out(f"{made['sha256']}\n")
        return 0

    return _reading(lambda: with_server(url, token, make))


def show_manifest(sha256: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    def read(talk: HttpTalk) -> Told:
        manifest = talk.asked("GET", named("manifests", sha256))
        entries = Listing(path=named("manifests", sha256, "entries"), row=_entry_row, none="")
        return {**manifest, "entries": list(entries.items(talk))}

    return show_one(read, _manifest_lines, as_json=as_json, url=url, token=token)


def diff_manifests(old: str, new: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    """One line a path: + added, - removed, ~ modified."""

    def read(talk: HttpTalk) -> Told:
        return talk.asked("GET", f"{named('manifests', new, 'diff')}?{urlencode({'against': old})}")

    return show_one(read, _diff_lines, as_json=as_json, url=url, token=token)


def list_pointers(namespace: str | None, *, as_json: bool, url: str | None, token: str | None) -> int:
    none = "There are no pointers yet. Make one with: turnkeeper pointers create NAME"
    listing = Listing(path="/pointers", row=_row, query={"namespace": namespace}, none=none)
    return show_list(listing, as_json=as_json, url=url, token=token)


def show_pointer(pointer: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    """Where it stands and everywhere it has been, newest first."""

    def read(talk: HttpTalk) -> Told:
        found = _pointer(talk, pointer)
        moves = Listing(path=named("pointers", found["id"], "history"), row=_move_row, none="")
        return {**found, "history": list(moves.items(talk))}

    return show_one(read, _pointer_lines, as_json=as_json, url=url, token=token)


def create_pointer(name: str, kind: str, manifest: str | None, url: str | None, token: str | None) -> int:
    """`name` is a name, or `namespace/name`."""

    def create(talk: HttpTalk) -> int:
        namespace, slash, last = name.rpartition("/")
        body = {"name": last, "kind": kind, **({"namespace": namespace} if slash else {})}
        made = talk.asked("POST", "/pointers", body | ({"manifest": manifest} if manifest else {}))
        put_out(f"{made['id']}\n")
        return 0

    return with_server(url, token, create)


def move_pointer(
    pointer: str, manifest: str, expected: str | None, reason: str | None, url: str | None, token: str | None
) -> int:
    """`expected` may be `empty`."""

    def move(talk: HttpTalk) -> int:
        found = _pointer(talk, pointer)
        body: dict[str, Any] = {"manifest": manifest, **({"reason": reason} if reason else {})}
        if expected is not None:
            body["expected"] = None if expected == "empty" else expected
        put_rows([_row(talk.asked("POST", f"/pointers/{found['id']}/advance", body))], none="")
        return 0

    return with_server(url, token, move)


def delete_pointer(pointer: str, url: str | None, token: str | None) -> int:
    def delete(talk: HttpTalk) -> int:
        found = _pointer(talk, pointer)
        talk.asked("DELETE", f"/pointers/{found['id']}")
        put_out(f"{found['namespace']}/{found['name']} is deleted; its history stays.\n")
        return 0

    return with_server(url, token, delete)


def list_outputs(session: str, run: str | None, *, as_json: bool, url: str | None, token: str | None) -> int:
    none = "Nothing came out of this session yet."
    listing = Listing(path=named("sessions", session, "outputs"), row=_output_row, query={"run_id": run}, none=none)
    return show_list(listing, as_json=as_json, url=url, token=token)


def collect(database: str | None, tenant: str | None, grace_seconds: float | None) -> int:
    """Remove what nobody refers to, in the database itself."""
    try:
        settings = own_settings(database=database)
    except ValueError as error:
        return complain(str(error))
    path = local_file_of(settings)
    if path is not None and not path.exists():
        return complain(f"There is no database {path}. Name one with --database.")
    try:
        blobs, size, uploads = asyncio.run(_collected(settings, tenant, grace_seconds))
    except TurnkeeperError as error:
        return complain(error.detail, code=1)
    swept = counting(uploads, "abandoned upload", "abandoned uploads")
    put_out(f"Removed {counting(blobs, 'content', 'contents')} of {size} bytes, and {swept}.\n")
    return 0


async def _collected(settings: Settings, tenant: str | None, grace_seconds: float | None) -> tuple[int, int, int]:
    async with Turnkeeper(settings).looking_in() as keeper:
        collected = await keeper.substrate.collect(tenant, grace_seconds=grace_seconds)
        return collected.blobs, collected.bytes, collected.uploads


def _keep(talk: HttpTalk, file: Path) -> Mapping[str, Any]:
    return talk.sent(f"/artifacts?name={file.name}", _chunks(file))


def _chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as content:
        while chunk := content.read(CHUNK_BYTES):
            yield chunk


def _all_files(files: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for each in files:
        found += sorted(path for path in each.rglob("*") if path.is_file()) if each.is_dir() else [each]
    return found


def _pointer(talk: HttpTalk, named: str) -> Mapping[str, Any]:
    return talk.asked("GET", f"/pointers/by-name/{named}" if "/" in named else f"/pointers/{named}")


def _row(pointer: Told) -> list[str]:
    place = f"{pointer['namespace']}/{pointer['name']}"
    return [pointer["id"], place, pointer["kind"], pointer["manifest"] or "nothing"]


def _move_row(move: Told) -> list[str]:
    where = f"{move['old'] or 'nothing'} -> {move['new'] or 'nothing'}"
    return [str(move["no"]), moment(move["moved_at"]), move["operation"], where, move["reason"] or ""]


def _pointer_lines(pointer: Told) -> str:
    columns = terminal_columns()
    return table([_row(pointer)], columns) + table([_move_row(move) for move in pointer["history"]], columns)


def _entry_row(entry: Told) -> list[str]:
    return [entry["sha256"], entry["path"]]


def _manifest_lines(manifest: Told) -> str:
    counted = counting(manifest["entry_count"], "entry", "entries")
    about = f"{counted}, {manifest['total_size']} bytes, by {manifest['created_by']}"
    columns = terminal_columns()
    head = table([[manifest["sha256"], about]], columns)
    return head + table([_entry_row(entry) for entry in manifest["entries"]], columns)


def _diff_lines(found: Told) -> str:
    signs = {"added": "+", "removed": "-", "modified": "~"}
    lines = [(each["path"], sign) for what, sign in signs.items() for each in found[what]]
    return "".join(f"{sign} {path}\n" for path, sign in sorted(lines)) or "Nothing is different.\n"


def _output_row(output: Told) -> list[str]:
    about = output["data"].get("path") or output["data"].get("name") or ""
    return [str(output["no"]), output["kind"], output["ref"], about]


def _reading(work: Any) -> int:
    try:
        code: int = work()
    except OSError as error:
        return complain(f"{error.filename or 'The file'}: {error.strerror or error}.", code=1)
    except ValueError as error:
        return complain(str(error), code=1)
    return code
