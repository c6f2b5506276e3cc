"""The keys of seals on a server, and sessions that change hands with what they seal."""

import os
import shlex
import sys
import tempfile
from errno import EISDIR
from pathlib import Path
from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, put_out
from turnkeeper.cli.showing import put_json, put_rows
from turnkeeper.cli.tables import moment
from turnkeeper.cli.talk import HttpTalk, Told


def list_seals(*, as_json: bool, url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        keys = talk.asked("GET", "/seals")["items"]
        if as_json:
            put_json(keys)
            return 0
        usable = [key["id"] for key in keys if not key["retired_at"]]
        none = "There are no keys yet; the first state that a client is given makes one."
        put_rows([_row(key, seals=usable[-1:] == [key["id"]]) for key in keys], none=none)
        return 0

    return with_server(url, token, show)


def _row(key: Told, *, seals: bool) -> list[str]:
    opens = f"retired {moment(key['retired_at'])}" if key["retired_at"] else "opens"
    return [key["id"], moment(key["created_at"]), "seals" if seals else opens]


def rotate(url: str | None, token: str | None) -> int:
    def work(talk: HttpTalk) -> int:
        put_out(f"{talk.asked('POST', '/seals/rotate')['id']}\n")
        return 0

    return with_server(url, token, work)


def retire(key: str, is_sure: bool, url: str | None, token: str | None) -> int:
    if not is_sure:
        return complain("What a retired key has sealed is opened by nobody. Say --yes if that is what you want.")

    def work(talk: HttpTalk) -> int:
        talk.asked("POST", f"/seals/{quote(key, safe='')}/retire")
        put_out(f"{key} is retired.\n")
        return 0

    return with_server(url, token, work)


def adopt(session_id: str, state: str, agent: str | None, url: str | None, token: str | None) -> int:
    """`state` is the file with what the client carries; `-` is the standard input."""
    try:
        carried = sys.stdin.read() if state == "-" else Path(state).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        return complain(f"{state} cannot be read: {getattr(error, 'strerror', None) or error}")

    def work(talk: HttpTalk) -> int:
        body = {"session_id": session_id, "carried": carried.strip(), **({"agent": agent} if agent else {})}
        put_out(f"{talk.asked('POST', '/sessions/adopt', body)['id']}\n")
        return 0

    return with_server(url, token, work)


def release(session_id: str, to: Path | None, url: str | None, token: str | None) -> int:
    """What is in the file stays there until the new state is whole beside it. The file is for its owner alone."""
    try:
        part = None if to is None else _part_of(to)
    except OSError as error:
        return complain(f"{to} cannot be written: {error.strerror}")

    def work(talk: HttpTalk) -> int:
        released = talk.asked("POST", f"/sessions/{quote(session_id, safe='')}/release")
        if to is None or part is None:
            put_out(f"{released['carried']}\n")
        else:
            part.write_text(f"{released['carried']}\n", encoding="utf-8")
            part.replace(to)
            put_out(_told(released["session_id"], released["agent"], to))
        for warning in released["warnings"]:
            complain(warning)
        return 0

    try:
        return with_server(url, token, work)
    except OSError as error:
        return complain(f"{to} cannot be written: {error.strerror}. Release the session again into another file.")
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _part_of(to: Path) -> Path:
    """An empty file beside it, which takes its place in the end."""
    if to.is_dir():
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    # A temporary file of this module is for its owner only from the start.
    handle, name = tempfile.mkstemp(dir=to.parent, prefix=f".{to.name}.")
    os.close(handle)
    return Path(name)


def _told(session_id: str, agent: str, to: Path) -> str:
    back = shlex.join(["turnkeeper", "sessions", "adopt", session_id, str(to), "--agent", agent])
    return (
        f"The state of {session_id}, which spoke with {agent}, is in {to}. Go on with it as `carried` in custody "
        f"`client`, or give it back:\n  {back}\n"
    )
