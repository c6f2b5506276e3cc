"""Artifacts, manifests and pointers from the terminal, through a server; and clearing up in a database."""

import asyncio
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.local import local_file_of
from turnkeeper.cli.say import complain, counting, folded, put_out
from turnkeeper.cli.settled import own_settings
from turnkeeper.cli.talk import HttpTalk
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


def show_manifest(sha256: str, url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        manifest = talk.asked("GET", f"/manifests/{sha256}")
        counted = counting(manifest["entry_count"], "entry", "entries")
        put_out(f"{manifest['sha256']}  {counted}, {manifest['total_size']} bytes, by {manifest['created_by']}\n")
        for entry in _pages(talk, f"/manifests/{sha256}/entries?limit=200"):
            put_out(folded(f"{entry['sha256']}  {entry['path']}") + "\n")
        return 0

    return with_server(url, token, show)


def diff_manifests(old: str, new: str, url: str | None, token: str | None) -> int:
    """One line a path: + added, - removed, ~ modified."""

    def diff(talk: HttpTalk) -> int:
        found = talk.asked("GET", f"/manifests/{new}/diff?against={old}")
        lines = [
            *(("+", each["path"]) for each in found["added"]),
            *(("-", each["path"]) for each in found["removed"]),
            *(("~", each["path"]) for each in found["modified"]),
        ]
        for sign, path in sorted(lines, key=lambda line: line[1]):
            put_out(folded(f"{sign} {path}") + "\n")
        return 0

    return with_server(url, token, diff)


def list_pointers(namespace: str | None, url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        within = "" if namespace is None else f"&namespace={namespace}"
        for pointer in _pages(talk, f"/pointers?limit=200{within}"):
            put_out(_line(pointer))
        return 0

    return with_server(url, token, show)


def show_pointer(pointer: str, url: str | None, token: str | None) -> int:
    """Where it stands and everywhere it has been, newest first."""

    def show(talk: HttpTalk) -> int:
        found = _pointer(talk, pointer)
        put_out(_line(found))
        for move in _pages(talk, f"/pointers/{found['id']}/history?limit=200"):
            where = f"{move['old'] or 'nothing'} -> {move['new'] or 'nothing'}"
            reason = f"  {move['reason']}" if move["reason"] else ""
            put_out(folded(f"{move['no']}  {move['moved_at']}  {move['operation']}  {where}{reason}") + "\n")
        return 0

    return with_server(url, token, show)


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
        put_out(_line(talk.asked("POST", f"/pointers/{found['id']}/advance", body)))
        return 0

    return with_server(url, token, move)


def delete_pointer(pointer: str, url: str | None, token: str | None) -> int:
    def delete(talk: HttpTalk) -> int:
        found = _pointer(talk, pointer)
        talk.asked("DELETE", f"/pointers/{found['id']}")
        put_out(f"{found['namespace']}/{found['name']} is deleted; its history stays.\n")
        return 0

    return with_server(url, token, delete)


def list_outputs(session: str, run: str | None, url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        of_run = "" if run is None else f"&run_id={run}"
        for output in _pages(talk, f"/sessions/{session}/outputs?limit=200{of_run}"):
            about = output["data"].get("path") or output["data"].get("name") or ""
            put_out(folded(f"{output['no']}  {output['kind']}  {output['ref']}  {about}".rstrip()) + "\n")
        return 0

    return with_server(url, token, show)


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


def _line(pointer: Mapping[str, Any]) -> str:
    stands = pointer["manifest"] or "nothing"
    return f"{pointer['id']}  {pointer['namespace']}/{pointer['name']}  {pointer['kind']}  {stands}\n"


def _pages(talk: HttpTalk, path: str) -> Iterator[Mapping[str, Any]]:
    cursor: str | None = None
    while True:
        page = talk.asked("GET", path if cursor is None else f"{path}&cursor={cursor}")
        yield from page["items"]
        cursor = page.get("next")
        if cursor is None:
            return


def _reading(work: Any) -> int:
    try:
        code: int = work()
    except OSError as error:
        return complain(f"{error.filename or 'The file'}: {error.strerror or error}.", code=1)
    except ValueError as error:
        return complain(str(error), code=1)
    return code
