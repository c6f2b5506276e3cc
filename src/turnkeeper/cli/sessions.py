"""Sessions on a server: beginning, seeing, changing them, and going on from an earlier turn of one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, counting, put_out
from turnkeeper.cli.showing import Listing, named, put_rows, show_list, show_one, shown_facts
from turnkeeper.cli.tables import moment
from turnkeeper.cli.talk import HttpTalk, Told


def list_sessions(
    sought: Mapping[str, str | None], limit: int | None, *, as_json: bool, url: str | None, token: str | None
) -> int:
    none = "There are no sessions yet. Begin one with: turnkeeper chat"
    listing = Listing(path="/sessions", row=_row, query=sought, none=none, limit=limit)
    return show_list(listing, as_json=as_json, url=url, token=token)


def moment_in_utc(text: str | None) -> str | None:
    """A moment as a server reads it; one without a zone, or a day, is meant in UTC. What is none is sent as it is."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return text
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def create_session(wanted: Mapping[str, str | None], url: str | None, token: str | None) -> int:
    def create(talk: HttpTalk) -> int:
        made = talk.asked("POST", "/sessions", {name: value for name, value in wanted.items() if value is not None})
        put_out(f"{made['id']}\n")
        return 0

    return with_server(url, token, create)


def change_status(session_id: str, verb: str, url: str | None, token: str | None) -> int:
    def change(talk: HttpTalk) -> int:
        changed = talk.asked("POST", named("sessions", session_id, verb))
        put_out(f"{changed['id']} is {changed['status']}.\n")
        return 0

    return with_server(url, token, change)


def reset_session(session_id: str, url: str | None, token: str | None) -> int:
    def reset(talk: HttpTalk) -> int:
        put_out(f"{talk.reset(session_id)}\n")
        return 0

    return with_server(url, token, reset)


def change_mounts(session_id: str, verb: str, mounts: Sequence[str], url: str | None, token: str | None) -> int:
    wanted = [dict(zip(("kind", "id"), mount.split(":", 1), strict=False)) for mount in mounts]
    if any(len(each) < 2 for each in wanted):
        return complain("Name each as KIND:ID, such as pointer:ptr_01K...")

    def change(talk: HttpTalk) -> int:
        changed = talk.asked("PATCH", named("sessions", session_id), {"mounts": {verb: wanted}})
        put_rows([_mount_row(mount) for mount in changed["mounts"]], none="Nothing is mounted.")
        return 0

    return with_server(url, token, change)


def _mount_row(mount: Told) -> list[str]:
    return [mount["state"], mount["kind"], mount["id"], f"from {mount['source']}"]


def _row(session: Told) -> list[str]:
    turns = counting(session["turns"], "turn", "turns")
    active, title = moment(session["last_active_at"]), session["title"] or session["opening"] or ""
    return [session["id"], session["status"], turns, session["agent"], active, session["module"] or "", title]


def show_session(session_id: str, turn: int | None, *, as_json: bool, url: str | None, token: str | None) -> int:
    def read(talk: HttpTalk) -> Told:
        session = talk.asked("GET", named("sessions", session_id))
        then = session["turns"] if turn is None else turn
        return {**session, "state": talk.asked("GET", named("sessions", session_id, "turns", str(then)))}

    return show_one(read, _lines, as_json=as_json, url=url, token=token)


def fork_session(session_id: str, at_turn: int | None, title: str | None, url: str | None, token: str | None) -> int:
    def fork(talk: HttpTalk) -> int:
        wanted = {"at_turn": at_turn, "title": title}
        body = {name: value for name, value in wanted.items() if value is not None}
        made = talk.asked("POST", named("sessions", session_id, "fork"), body)
        put_out(f"{made['id']}\n")
        return 0

    return with_server(url, token, fork)


def _lines(session: Told) -> str:
    then, intent = session["state"], session["intent"]
    head = shown_facts(
        {
            "session": session["id"],
            "title": session["title"],
            "status": session["status"],
            "agent": session["agent"],
            "owner": session["owner"],
            "turn": f"{then['turn']} of {session['turns']}, epoch {then['epoch']}",
            "began": moment(session["created_at"]),
            "last active": moment(session["last_active_at"]),
            "expires": moment(session["expires_at"]),
            "packs": ", ".join(session["packs"]),
            "intent": f"{intent['code']}, {intent['state']}" if intent else "",
            "missing": ", ".join(intent["missing"]) if intent else "",
            "forked from": session["fork_of"],
            "knows": counting(len(then["units"]), "unit", "units"),
        }
    )
    said = shown_facts([(f"{each['role']}:", each["content"]) for each in then["messages"]])
    return f"{head}\n{said}" if said else head
