"""Filling knowledge bases from files, through a server."""

from collections.abc import Sequence
from pathlib import Path

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, counting, put_out
from turnkeeper.cli.showing import Listing, named, show_list, show_one, shown_facts
from turnkeeper.cli.tables import table, terminal_columns
from turnkeeper.cli.talk import HttpTalk, TalkFailed, Told

KINDS = {".md": "markdown", ".markdown": "markdown", ".units": "units"}


def list_bases(*, as_json: bool, url: str | None, token: str | None) -> int:
    none = "There are no knowledge bases yet. Make one with: turnkeeper kbs create NAME"
    return show_list(Listing(path="/kbs", row=_row, none=none), as_json=as_json, url=url, token=token)


def show_base(base_id: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    def read(talk: HttpTalk) -> Told:
        base = talk.asked("GET", named("kbs", base_id))
        sources = Listing(path=named("kbs", base_id, "sources"), row=_source_row, none="")
        return {**base, "sources": list(sources.items(talk))}

    return show_one(read, _lines, as_json=as_json, url=url, token=token)


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


def _row(base: Told) -> list[str]:
    held = f"{counting(base['sources'], 'source', 'sources')}, {counting(base['units'], 'unit', 'units')}"
    return [base["id"], base["name"], f"({held}, revision {base['revision']})"]


def _source_row(source: Told) -> list[str]:
    return [source["name"], source["kind"], counting(source["units"], "unit", "units")]


def _lines(base: Told) -> str:
    rows = [_source_row(source) for source in base["sources"]]
    head = {"knowledge base": base["id"], "name": base["name"], "revision": base["revision"], "units": base["units"]}
    none = "It is empty. Fill it with: turnkeeper kbs add BASE FILE...\n"
    return f"{shown_facts(head)}\n{table(rows, terminal_columns()) or none}"


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
