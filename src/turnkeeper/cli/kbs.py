"""Filling knowledge bases from files, through a server."""

from collections.abc import Sequence
from pathlib import Path

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, counting, put_out
from turnkeeper.cli.talk import HttpTalk, TalkFailed

KINDS = {".md": "markdown", ".markdown": "markdown", ".units": "units"}


def list_bases(url: str | None, token: str | None) -> int:
    return with_server(url, token, _list)


def create_base(name: str, parent: str | None, url: str | None, token: str | None) -> int:
    def create(talk: HttpTalk) -> int:
        base = talk.asked("POST", "/kbs", {"name": name, **({"parent_id": parent} if parent else {})})
        put_out(f"{base['id']}\n")
        return 0

    return with_server(url, token, create)


def add_sources(base_id: str, files: Sequence[Path], url: str | None, token: str | None) -> int:
    """Each file by itself: one that cannot be read or is refused does not keep the others out."""

    def add(talk: HttpTalk) -> int:
        return max([_add(talk, base_id, file) for file in files], default=0)

    return with_server(url, token, add)


def mount_base(session_id: str, base_id: str, url: str | None, token: str | None) -> int:
    def mount(talk: HttpTalk) -> int:
        session = talk.asked("PUT", f"/sessions/{session_id}/mounts/{base_id}")
        revision = next(mount["revision"] for mount in session["mounts"] if mount["id"] == base_id)
        put_out(f"{session_id} now sees {base_id} at revision {revision}.\n")
        return 0

    return with_server(url, token, mount)


def _list(talk: HttpTalk) -> int:
    cursor: str | None = None
    while True:
        page = talk.asked("GET", "/kbs" if cursor is None else f"/kbs?cursor={cursor}")
        for base in page["items"]:
            held = f"{counting(base['sources'], 'source', 'sources')}, {counting(base['units'], 'unit', 'units')}"
            put_out(f"{base['id']}  {' '.join(base['name'].split())}  ({held}, revision {base['revision']})\n")
        cursor = page.get("next")
        if cursor is None:
            return 0


def _add(talk: HttpTalk, base_id: str, file: Path) -> int:
    try:
        content = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return complain(f"{file}: this is not a text in UTF-8.", code=1)
    except OSError as error:
        return complain(f"{file}: {error.strerror}.", code=1)
    body = {"name": file.name, "content": content, "kind": KINDS.get(file.suffix.lower(), "plain-text")}
    try:
        source = talk.asked("POST", f"/kbs/{base_id}/sources", body)
    except TalkFailed as failure:
        return complain(f"{file}: {failure}", code=1)
    put_out(f"{file}: {counting(source['units'], 'unit', 'units')}, revision {source['base_revision']}\n")
    return 0
