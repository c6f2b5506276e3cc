"""Approvals on a server: seeing what is asked, and deciding it."""

from dataclasses import replace

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import put_out
from turnkeeper.cli.showing import Listing, named, show_list, show_one, shown_facts
from turnkeeper.cli.tables import moment
from turnkeeper.cli.talk import HttpTalk, Told


def list_approvals(session: str | None, status: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    query = {"session_id": session, "status": None if status == "any" else status}
    listing = Listing(path="/approvals", row=_row, query=query, none="Nobody was asked for anything yet.")
    if status == "pending":
        listing = replace(listing, nothing_fits="Nothing waits for a decision. --status any shows all there were.")
    return show_list(listing, as_json=as_json, url=url, token=token)


def show_approval(approval_id: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    def read(talk: HttpTalk) -> Told:
        return talk.asked("GET", named("approvals", approval_id))

    return show_one(read, _lines, as_json=as_json, url=url, token=token)


def decide(approval_id: str, decision: str, reason: str | None, url: str | None, token: str | None) -> int:
    def send(talk: HttpTalk) -> int:
        body = {"decision": decision, **({"reason": reason} if reason else {})}
        decided = talk.asked("POST", named("approvals", approval_id, "decide"), body)
        put_out(f"{decided['id']} is {decided['status']}; run {decided['run_id']} goes on.\n")
        return 0

    return with_server(url, token, send)


def _row(approval: Told) -> list[str]:
    is_open = approval["status"] == "pending" and approval["due_at"]
    until = f"until {moment(approval['due_at'])}" if is_open else ""
    by = f"by {approval['required_role']}"
    return [approval["id"], approval["status"], approval["action"], by, until, approval["session_id"]]


def _lines(approval: Told) -> str:
    context = approval["context"]
    rows = {
        "approval": approval["id"],
        "status": approval["status"],
        "action": approval["action"],
        "asked": context.get("summary", ""),
        "arguments": context.get("arguments", ""),
        "resources": ", ".join(f"{each['kind']} {each['id']}" for each in context.get("resources", [])),
        "session": approval["session_id"],
        "run": approval["run_id"],
        "user": context.get("user", ""),
        "decided by": f"{approval['required_role']} or above",
        "until": approval["due_at"] or "",
        "then": approval["rule"]["on_timeout"],
    }
    if approval["decided_at"]:
        rows |= {"decided": f"{approval['decided_at']} by {approval['decided_by']}", "reason": approval["reason"] or ""}
    return shown_facts(rows)
