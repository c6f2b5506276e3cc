"""Tools and approvals over HTTP and from the terminal."""

from tests.cli.terminal import turnkeeper
from tests.server.conftest import House
from tests.server.process import Api


def a_waiting_run(api: Api) -> tuple[str, str, str]:
    """The ids of a session, of its run that waits, and of the approval that it waits for."""
    asked = api.post("/chat", {"message": "Call back", "agent": "clerk"}).json()
    (approval,) = api.get(f"/approvals?session_id={asked['session_id']}").json()["items"]
    return asked["session_id"], asked["run_id"], approval["id"]


def test_an_approval_is_read_decided_and_decided_only_once(ben: Api, ada: Api) -> None:
    session_id, run_id, approval_id = a_waiting_run(ben)
    shown = ada.get(f"/approvals/{approval_id}").json()

    decided = ada.post(f"/approvals/{approval_id}/decide", {"decision": "approve", "reason": "fine"})
    again = ada.post(f"/approvals/{approval_id}/decide", {"decision": "approve"})
    otherwise = ada.post(f"/approvals/{approval_id}/decide", {"decision": "reject"})

    assert (shown["status"], shown["action"], shown["run_id"]) == ("pending", "connector.crm.write", run_id)
    assert shown["rule"]["gate"] == "approve"
    assert (decided.status_code, decided.json()["status"], decided.json()["decided_by"]) == (200, "approved", "ada")
    assert again.json()["decided_at"] == decided.json()["decided_at"]
    assert (otherwise.status_code, otherwise.json()["code"]) == (409, "approval_decided")
    assert ben.until_over(run_id)["text"] == "ok wrote 9"
    assert [each["id"] for each in ben.get(f"/approvals?session_id={session_id}&status=approved").json()["items"]] == [
        approval_id
    ]


def test_an_approval_is_nobody_elses(house: House, ben: Api, gus: Api) -> None:
    _, run_id, approval_id = a_waiting_run(ben)

    for stranger in (gus, house.api("cora")):
        assert stranger.get(f"/approvals/{approval_id}").json()["code"] == "approval_not_found"
        refused = stranger.post(f"/approvals/{approval_id}/decide", {"decision": "approve"})
        assert (refused.status_code, refused.json()["code"]) == (404, "approval_not_found")
        assert approval_id not in stranger.get("/approvals").text
    assert ben.get(f"/runs/{run_id}").json()["status"] == "waiting"


def test_a_yes_is_no_decision_and_bad_input_is_told(ben: Api) -> None:
    _, run_id, approval_id = a_waiting_run(ben)

    answered = ben.post(f"/runs/{run_id}/answer", {"message": "yes"})
    vague = ben.post(f"/approvals/{approval_id}/decide", {"decision": "maybe"})

    assert (answered.status_code, answered.json()["code"]) == (409, "approval_open")
    assert answered.json()["approval_id"] == approval_id
    assert (vague.status_code, vague.json()["details"][0]["pointer"]) == (422, "/decision")


def test_the_tools_of_a_session_are_shown_with_their_gates(ben: Api, gus: Api) -> None:
    session_id = ben.post("/sessions", {"agent": "clerk"}).json()["id"]

    (tool,) = ben.get(f"/sessions/{session_id}/tools").json()

    assert (tool["name"], tool["gate"]) == ("connector.crm.write", "approve")
    assert tool["parameters"]["required"] == ["line"]
    assert gus.get(f"/sessions/{session_id}/tools").status_code == 404


def test_approvals_are_decided_from_the_terminal(house: House, ben: Api) -> None:
    _, run_id, approval_id = a_waiting_run(ben)
    _, rejected_run, rejected_id = a_waiting_run(ben)

    def told(*arguments: str) -> str:
        done = turnkeeper("approvals", *arguments, "--url", house.server.url, "--token", "token-of-ada")
        assert done.returncode == 0, done.stderr
        return done.stdout

    listed, shown = told("list"), told("show", approval_id)
    approved = told("approve", approval_id, "--reason", "Known customer")
    rejected = told("reject", rejected_id)

    assert f"{approval_id}  pending  connector.crm.write" in listed
    assert "decided by  member or above" in shown
    assert "Call back" in shown
    assert approved == f"{approval_id} is approved; run {run_id} goes on.\n"
    assert rejected == f"{rejected_id} is rejected; run {rejected_run} goes on.\n"
    assert ben.until_over(run_id)["text"] == "ok wrote 9"
    assert ben.until_over(rejected_run)["text"] == "denied approval_required"
    assert "Known customer" in told("show", approval_id)
