"""Runs on a server: how they stand, what they ask, and stopping them."""

from collections.abc import Mapping

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import put_out
from turnkeeper.cli.showing import Listing, named, put_json, show_list, show_one, shown_facts
from turnkeeper.cli.tables import moment
from turnkeeper.cli.talk import HttpTalk, Told


def list_runs(
    session_id: str | None,
    sought: Mapping[str, str | None],
    limit: int | None,
    *,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> int:
    if session_id is not None and not any(sought.values()):
        none = f"Nothing was said in it yet. Say something with: turnkeeper chat --session {session_id}"
        listing = Listing(path=named("sessions", session_id, "runs"), row=_row, none=none, limit=limit)
    else:
        none = "There are no runs yet. Say something with: turnkeeper chat"
        query = {**sought, "session_id": session_id}
        listing = Listing(path="/runs", row=_row, query=query, none=none, limit=limit)
    return show_list(listing, as_json=as_json, url=url, token=token)


def show_run(run_id: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    def read(talk: HttpTalk) -> Told:
        return talk.asked("GET", named("runs", run_id))

    return show_one(read, _lines, as_json=as_json, url=url, token=token)


def cancel_run(run_id: str, url: str | None, token: str | None) -> int:
    def cancel(talk: HttpTalk) -> int:
        run = talk.asked("POST", named("runs", run_id, "cancel"))
        still = "" if run["ended_at"] else "; its end is on its way"
        put_out(f"{run['id']} is {_words(run['status'])}{still}.\n")
        return 0

    return with_server(url, token, cancel)


def answer_run(run_id: str, text: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    def answer(talk: HttpTalk) -> int:
        reply = talk.asked("POST", named("runs", run_id, "answer"), {"message": text})
        put_json(reply) if as_json else put_out(f"{reply['text']}\n")
        return 0

    return with_server(url, token, answer)


def _row(run: Told) -> list[str]:
    turn = f"turn {run['turn']}" if run["turn"] else ""
    error = run["error"]["code"] if run["error"] else ""
    return [run["id"], _words(run["status"]), turn, moment(run["accepted_at"]), run["agent"], error]


def _lines(run: Told) -> str:
    error = run["error"]
    return shown_facts(
        {
            "run": run["id"],
            "status": _words(run["status"]),
            "session": run["session_id"],
            "turn": run["turn"],
            "agent": run["agent"],
            "user": run["user"],
            "accepted": moment(run["accepted_at"]),
            "ended": moment(run["ended_at"]),
            "asks" if run["status"] == "waiting" else "answer": run["text"],
            "error": f"{error['message']} ({error['code']})" if error else "",
            "try again": run["retry_of"],
            "went on as": run["superseded_by"],
            "see why": f"turnkeeper explain {run['id']}",
        }
    )


def _words(status: str) -> str:
    return status.replace("_", " ")
