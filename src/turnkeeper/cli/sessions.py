"""Sessions on a server: seeing one as it is or as it was, and going on from an earlier turn."""

from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import counting, folded, put_out
from turnkeeper.cli.talk import HttpTalk, Told


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
