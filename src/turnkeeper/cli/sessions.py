"""Sessions on a server: beginning, seeing, changing them, and going on from an earlier turn of one."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, counting, folded, put_out
from turnkeeper.cli.talk import HttpTalk, Told


def list_sessions(
    status: str | None, module: str | None, project: str | None, url: str | None, token: str | None
) -> int:
    def show(talk: HttpTalk) -> int:
        asked = {"status": status, "module": module, "project_id": project}
        query = "".join(f"&{name}={quote(value, safe='')}" for name, value in asked.items() if value is not None)
        cursor, found = "", False
        while True:
            page = talk.asked("GET", f"/sessions?limit=100{query}{cursor}")
            put_out("".join(f"{folded(_line(each))}\n" for each in page["items"]))
            found = found or bool(page["items"])
            if "next" not in page:
                break
            cursor = f"&cursor={quote(page['next'], safe='')}"
        if not found:
            put_out("Nothing fits.\n" if query else "There are no sessions yet.\n")
        return 0

    return with_server(url, token, show)


def create_session(wanted: Mapping[str, str | None], url: str | None, token: str | None) -> int:
    def create(talk: HttpTalk) -> int:
        made = talk.asked("POST", "/sessions", {name: value for name, value in wanted.items() if value is not None})
        put_out(f"{made['id']}\n")
        return 0

    return with_server(url, token, create)


def change_status(session_id: str, verb: str, url: str | None, token: str | None) -> int:
    def change(talk: HttpTalk) -> int:
        changed = talk.asked("POST", f"/sessions/{quote(session_id, safe='')}/{verb}")
        put_out(f"{changed['id']} is {changed['status']}.\n")
        return 0

    return with_server(url, token, change)


def change_mounts(session_id: str, verb: str, mounts: Sequence[str], url: str | None, token: str | None) -> int:
    named = [dict(zip(("kind", "id"), mount.split(":", 1), strict=False)) for mount in mounts]
    if any(len(each) < 2 for each in named):
        return complain("Name each as KIND:ID, such as pointer:ptr_01K...")

    def change(talk: HttpTalk) -> int:
        changed = talk.asked("PATCH", f"/sessions/{quote(session_id, safe='')}", {"mounts": {verb: named}})
        lines = [
            f"{each['state']:<10} {each['kind']} {each['id']}  from {each['source']}" for each in changed["mounts"]
        ]
        put_out("".join(f"{folded(line)}\n" for line in lines) or "Nothing is mounted.\n")
        return 0

    return with_server(url, token, change)


def _mount_line(mount: Told) -> str:
    return f"{mount['state']:<10} {mount['kind']} {mount['id']}  from {mount['source']}"


def _line(session: Told) -> str:
    turns = counting(session["turns"], "turn", "turns")
    about = [session["status"], turns, session["module"] or "", session["title"] or ""]
    return f"{session['id']}  " + "  ".join(part for part in about if part)


def show_session(session_id: str, turn: int | None, url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        place = f"/sessions/{quote(session_id, safe='')}"
        session = talk.asked("GET", place)
        then = talk.asked("GET", f"{place}/turns/{session['turns'] if turn is None else turn}")
        put_out(_lines(session, then))
        return 0

    return with_server(url, token, show)


def fork_session(session_id: str, at_turn: int | None, title: str | None, url: str | None, token: str | None) -> int:
    def fork(talk: HttpTalk) -> int:
        wanted = {"at_turn": at_turn, "title": title}
        body = {name: value for name, value in wanted.items() if value is not None}
        made = talk.asked("POST", f"/sessions/{quote(session_id, safe='')}/fork", body)
        put_out(f"{made['id']}\n")
        return 0

    return with_server(url, token, fork)


def _lines(session: Told, then: Told) -> str:
    rows = {
        "session": session["id"],
        "title": session["title"] or "",
        "status": session["status"],
        "agent": session["agent"],
        "turn": f"{then['turn']} of {session['turns']}, epoch {then['epoch']}",
        "forked from": session["fork_of"] or "",
        "knows": counting(len(then["units"]), "unit", "units"),
    }
    told = "".join(f"{name:<11} {folded(str(value))}\n" for name, value in rows.items() if value)
    return told + "".join(folded(f"{each['role']}: {each['content']}") + "\n" for each in then["messages"])
