"""Explanations over HTTP: in pages, one by one, and as pictures."""

from typing import Any

import pytest

from tests.server.process import Api

SUMMARY = {
    "run_id",
    "session_id",
    "turn",
    "at",
    "status",
    "partial",
    "asked",
    "preview",
    "answer_status",
    "plugins",
    "model",
    "level",
    "warnings",
    "error",
    "units",
}
INSIDE = {"stages", "budget", "graph", "document", "details"}


@pytest.fixture
def talk(ben: Api) -> list[dict[str, Any]]:
    """Three messages to the symbolic agent in one session."""
    first = ben.chat("The depot is in Narva. We have seven vans.", agent="symbolic")
    others = [
        ben.chat(text, session_id=first["session_id"])
        for text in ("How many vans do we have? Where is the depot?", "Who is the mayor of Tartu?")
    ]
    return [first, *others]


def test_fault_22_a_session_tells_its_explanations_in_pages_and_in_short(ben: Api, talk: list[dict[str, Any]]) -> None:
    path = f"/sessions/{talk[0]['session_id']}/explanations"

    first = ben.get(path, params={"limit": 2}).json()
    second = ben.get(path, params={"limit": 2, "cursor": first["next"]}).json()

    assert [item["turn"] for item in first["items"]] == [3, 2]
    assert [item["turn"] for item in second["items"]] == [1]
    assert "next" not in second
    assert all(item.keys() == SUMMARY for item in first["items"] + second["items"])
    (noted,) = second["items"]
    assert (noted["asked"], noted["answer_status"]) == ("The depot is in Narva. We have seven vans.", "answered")
    assert noted["preview"].startswith("Noted:")
    assert len(noted["units"]["added"]) == 2
    assert first["items"][0]["answer_status"] == "no-context"
    assert len(ben.get(path).content) < 4_000


def test_a_page_can_be_read_in_full(ben: Api, talk: list[dict[str, Any]]) -> None:
    path = f"/sessions/{talk[0]['session_id']}/explanations"

    page = ben.get(path, params={"level": "full", "limit": 1}).json()

    (item,) = page["items"]
    assert item.keys() == SUMMARY | INSIDE
    assert item == ben.get(f"{path}/{talk[2]['run_id']}").json()


def test_fact_7_one_explanation_tells_everything(ben: Api, talk: list[dict[str, Any]]) -> None:
    asked = talk[1]
    told = ben.get(f"/sessions/{asked['session_id']}/explanations/{asked['run_id']}").json()

    assert (told["run_id"], told["turn"], told["status"], told["level"]) == (asked["run_id"], 2, "completed", 0)
    assert told["plugins"] == {
        "sd-plugin": "sd-symbolic",
        "kb-plugin": "kb-fast",
        "gs-plugin": "gs-symbolic",
        "mrp-plan-plugin": "planner-default",
    }
    assert [stage["name"] for stage in told["stages"]][-2:] == ["hand_off", "commit"]
    assert len(told["document"]["groups"]) == 2
    assert told == ben.get(f"/runs/{asked['run_id']}/explanation").json()


def test_the_graph_travels_with_nodes_and_edges_that_fit(ben: Api, talk: list[dict[str, Any]]) -> None:
    graph = ben.get(f"/runs/{talk[1]['run_id']}/explanation").json()["graph"]

    ids = [node["id"] for node in graph["nodes"]]
    assert graph.keys() == {"root_frame_id", "nodes", "edges", "left_out"}
    assert graph["nodes"][0].keys() == {
        "id",
        "type",
        "label",
        "status",
        "frame_id",
        "began_us",
        "took_us",
        "input",
        "output",
        "error",
        "metadata",
    }
    assert graph["edges"][0] == {"type": "flow", "from": "step-0", "to": "step-1"}
    assert len(set(ids)) == len(ids)
    assert {end for edge in graph["edges"] for end in (edge["from"], edge["to"])} <= set(ids)
    assert graph["root_frame_id"] in ids
    kinds = {node["type"] for node in graph["nodes"]}
    assert {"step", "frame", "seed", "planner", "plugin", "branch", "result"} <= kinds


@pytest.mark.parametrize("place", ["/runs/{run_id}/explanation", "/sessions/{session_id}/explanations/{run_id}"])
def test_one_explanation_can_be_short_or_a_picture(ben: Api, talk: list[dict[str, Any]], place: str) -> None:
    path = place.format(**talk[1])

    short = ben.get(path, params={"level": "summary"})
    chart = ben.get(path, params={"format": "mermaid"})
    tree = ben.get(path, params={"format": "tree", "level": "summary"})
    full_tree = ben.get(path, params={"format": "tree"})

    assert short.json().keys() == SUMMARY
    assert chart.headers["content-type"] == tree.headers["content-type"] == "text/plain; charset=utf-8"
    assert chart.text.startswith("flowchart TD\n")
    assert '["frame 0' in chart.text
    assert tree.text.splitlines()[0] == "├─ intake"
    assert "plugin gs-symbolic" in tree.text
    assert "out: You have seven vans." in full_tree.text
    assert "out: You have seven vans." not in tree.text


def test_fact_6_a_failed_run_is_listed_with_its_error(ben: Api) -> None:
    failed = ben.post("/chat", {"message": "boo", "agent": "failing"}).json()

    (told,) = ben.get(f"/sessions/{failed['session_id']}/explanations").json()["items"]

    assert (told["status"], told["answer_status"], told["asked"], told["turn"]) == ("failed", "failed", "boo", None)
    assert told["error"]["code"] == "agent_failed"
    assert told["preview"] == told["error"]["message"]
    assert ben.get(f"/sessions/{failed['session_id']}/messages").json()["items"] == []


@pytest.mark.parametrize("asked", [{"level": "most"}, {"format": "png"}, {"limit": 0}])
def test_what_is_not_offered_is_refused(ben: Api, talk: list[dict[str, Any]], asked: dict[str, Any]) -> None:
    path = f"/sessions/{talk[0]['session_id']}/explanations"
    if "format" in asked:
        path += f"/{talk[0]['run_id']}"

    refused = ben.get(path, params=asked)

    assert (refused.status_code, refused.json()["code"]) == (422, "envelope_invalid")
    assert refused.json()["details"][0]["parameter"] in asked


def test_explanations_of_others_do_not_exist(ben: Api, gus: Api, talk: list[dict[str, Any]]) -> None:
    mine, foreign = talk[0], gus.chat("Mine")

    for session_id, run_id, code in (
        (foreign["session_id"], foreign["run_id"], "session_not_found"),
        (mine["session_id"], foreign["run_id"], "run_not_found"),
        (mine["session_id"], ben.chat("Elsewhere")["run_id"], "run_not_found"),
    ):
        refused = ben.get(f"/sessions/{session_id}/explanations/{run_id}")
        assert (refused.status_code, refused.json()["code"]) == (404, code)
    listed = ben.get(f"/sessions/{foreign['session_id']}/explanations")
    assert (listed.status_code, listed.json()["code"]) == (404, "session_not_found")
