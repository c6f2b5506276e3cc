"""The keys of seals on a server, and sessions that change hands with what they seal."""

import os
import sys
from pathlib import Path
from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, put_out
from turnkeeper.cli.talk import HttpTalk


def list_seals(url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        keys = talk.asked("GET", "/seals")["items"]
        usable = [key["id"] for key in keys if not key["retired_at"]]
        for key in keys:
            what = f"retired {key['retired_at']}" if key["retired_at"] else "opens"
            put_out(f"{key['id']}  {key['created_at']}  {'seals' if usable[-1:] == [key['id']] else what}\n")
        if not keys:
            put_out("There are no keys yet; the first state that a client is given makes one.\n")
        return 0

    return with_server(url, token, show)


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
    """The file is for its owner's eyes alone. It is made first: what is released is given out once."""
    try:
        if to is not None:
            os.close(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    except OSError as error:
        return complain(f"{to} cannot be written: {error.strerror}")

    def work(talk: HttpTalk) -> int:
        released = talk.asked("POST", f"/sessions/{quote(session_id, safe='')}/release")
        if to is None:
            put_out(f"{released['carried']}\n")
        else:
            to.write_text(f"{released['carried']}\n", encoding="utf-8")
        for warning in released["warnings"]:
            complain(warning)
        return 0

    return with_server(url, token, work)
