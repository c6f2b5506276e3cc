"""Approvals on a server: seeing what is asked, and deciding it."""

from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import folded, put_out
from turnkeeper.cli.talk import HttpTalk, Told


def list_approvals(session: str | None, status: str, url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        asked = {"session_id": session, "status": None if status == "any" else status}
        query = "".join(f"&{name}={quote(value, safe='')}" for name, value in asked.items() if value is not None)
        cursor, found = "", False
        while True:
            page = talk.asked("GET", f"/approvals?limit=100{query}{cursor}")
            put_out("".join(f"{folded(_line(each))}\n" for each in page["items"]))
            found = found or bool(page["items"])
            if "next" not in page:
                break
            cursor = f"&cursor={quote(page['next'], safe='')}"
        if not found:
            put_out("Nothing waits for a decision.\n" if status == "pending" else "Nothing fits.\n")
        return 0

    return with_server(url, token, show)


def show_approval(approval_id: str, url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        put_out(_lines(talk.asked("GET", f"/approvals/{quote(approval_id, safe='')}")))
        return 0

    return with_server(url, token, show)


def decide(approval_id: str, decision: str, reason: str | None, url: str | None, token: str | None) -> int:
    def send(talk: HttpTalk) -> int:
        body = {"decision": decision, **({"reason": reason} if reason else {})}
        decided = talk.asked("POST", f"/approvals/{quote(approval_id, safe='')}/decide", body)
        put_out(f"{decided['id']} is {decided['status']}; run {decided['run_id']} goes on.\n")
        return 0

    return with_server(url, token, send)


def _line(approval: Told) -> str:
    due = f"  until {approval['due_at']}" if approval["status"] == "pending" and approval["due_at"] else ""
    asked = f"{approval['action']}  session {approval['session_id']}  by {approval['required_role']}"
    return f"{approval['id']}  {approval['status']}  {asked}{due}"


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
    return "".join(f"{name:<11} {folded(str(value))}\n" for name, value in rows.items() if value)
