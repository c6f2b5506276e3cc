"""Looking at a running house over HTTP."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.server.conftest import House
from tests.server.process import Api, wait_for


def test_owners_see_the_runs_of_their_tenant_and_members_their_own(ada: Api, ben: Api, gus: Api, house: House) -> None:
    mine, his = ben.chat("Mine")["run_id"], gus.chat("His")["run_id"]
    failed = house.api("cora").post("/chat", {"message": "boo", "agent": "failing"}).json()["run_id"]

    of_tenant = [run["id"] for run in ada.get("/runs").json()["items"]]
    own = ben.get("/runs?limit=200").json()["items"]
    broken = ada.get("/runs", params={"status": ["failed,timed_out", "abandoned"], "agent": "failing"}).json()["items"]
    page = ada.get("/runs?limit=1").json()
    behind = ada.get("/runs", params={"limit": 1, "cursor": page["next"]}).json()["items"]

    assert of_tenant[:2] == [failed, mine]
    assert his not in of_tenant
    assert ({run["user"] for run in own}, own[0]["id"]) == ({"ben"}, mine)
    assert (broken[0]["id"], {run["status"] for run in broken}) == (failed, {"failed"})
    assert [run["id"] for run in (*page["items"], *behind)] == [failed, mine]
    assert house.api("vera").get("/runs").json()["items"] == []
    assert ada.get("/runs?status=flying").status_code == 422


def test_what_runs_right_now_is_seen_with_the_node_that_runs_it(ada: Api, gus: Api, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    session_id = ada.post("/sessions", {"agent": "gated"}).json()["id"]
    body = {"message": "Hi", "session_id": session_id, "params": {"gate": str(gate)}}
    caller = threading.Thread(target=ada.post, args=("/chat", body))
    caller.start()
    wait_for(f"{gate}.reached")

    live = ada.get("/runs", params={"status": "live", "session_id": session_id}).json()["items"]
    (node,) = ada.get("/nodes").json()["items"]
    (theirs,) = gus.get("/nodes").json()["items"]

    gate.touch()
    caller.join()
    assert [run["status"] for run in live] == ["running"]
    lease = next(lease for lease in node["leases"] if lease["session_id"] == session_id)
    assert (lease["run_id"], lease["queued"]) == (live[0]["id"], 0)
    assert (node["is_alive"], node["is_here"], node["lease_count"]) == (True, True, len(node["leases"]))
    assert "gated" in node["agents"]
    assert (theirs["id"], theirs["leases"]) == (node["id"], [])
    assert ada.get("/runs", params={"status": "live", "session_id": session_id}).json()["items"] == []


def test_traffic_counts_what_came_and_what_was_refused(ada: Api, gus: Api) -> None:
    gus.chat("Hello")
    before = gus.get("/traffic").json()

    gus.chat("Hello")
    gus.post("/chat", {"message": "x", "session_id": "sess_unknown", "on_missing": "error"})
    after = gus.get("/traffic").json()

    took = after["acceptance"]
    assert took["count"] == before["acceptance"]["count"] + 1
    assert 0 < took["p50_ms"] <= took["p99_ms"]
    assert (sum(bucket["count"] for bucket in took["buckets"]), took["buckets"][-1]["up_to_ms"]) == (
        took["count"],
        None,
    )
    refused = [each for each in after["envelopes"] if each["reason"] == "session_not_found"]
    assert [(each["channel"], each["mode"]) for each in refused] == [("app_chat", "batch")]
    assert after["node"] == ada.get("/nodes").json()["items"][0]["id"]
    assert after["since"] == before["since"]
    assert ada.get("/traffic").json()["envelopes"] != after["envelopes"]


def test_refusals_are_counted_by_reason_and_read_without_the_rest(ada: Api) -> None:
    ada.post("/chat", {"message": "x", "session_id": "sess_unknown", "on_missing": "error"})

    told = ada.get("/audit/reasons").json()
    page = ada.get("/audit", params={"refused": True, "limit": 1}).json()
    behind = ada.get("/audit", params={"refused": True, "limit": 1, "cursor": page["next"]}).json()
    unknown = ada.get("/audit", params={"cursor": "node_gone/1"})

    reasons = {each["reason"]: each["count"] for each in told["items"]}
    assert (reasons["session_not_found"] >= 1, "accepted" in reasons, told["is_whole"]) == (True, False, True)
    assert page["items"][0]["outcome"] == "session_not_found"
    assert behind["items"][0]["id"] != page["items"][0]["id"]
    assert unknown.status_code == 422


def test_usage_is_told_by_hour_and_day_within_bounds(gus: Api) -> None:
    gus.chat("Hello", agent="symbolic")
    now = datetime.now(UTC)

    by_hour, by_day = gus.get("/usage").json(), gus.get("/usage?by=day").json()
    too_long = gus.get("/usage", params={"since": (now - timedelta(days=32)).isoformat()})
    backwards = gus.get("/usage", params={"since": now.isoformat(), "until": (now - timedelta(days=1)).isoformat()})

    spent = [each["spent"]["runs"] for each in by_hour["items"] if each["agent"] == "symbolic"]
    assert sum(spent) >= 1
    assert (
        by_hour["total"]["runs"] == sum(each["spent"]["runs"] for each in by_hour["items"]) <= by_day["total"]["runs"]
    )
    assert datetime.fromisoformat(by_day["until"]) - datetime.fromisoformat(by_day["since"]) == timedelta(days=30)
    assert [(told.status_code, told.json()["code"]) for told in (too_long, backwards)] == [
        (422, "envelope_invalid")
    ] * 2
    assert "31 days" in too_long.json()["details"][0]["message"]


def test_limits_tell_what_is_left(house: House, ada: Api) -> None:
    key = ada.post("/keys", {"name": "slow", "rate": {"per_second": 0.001, "burst": 3}}).json()
    slow = house.server.api(key["token"])

    first, second = (
        {rate["name"]: rate for rate in slow.get("/limits").json()["rates"]}[f"key:{key['id']}"] for _ in range(2)
    )
    told = house.api("vera").get("/limits").json()

    assert (first["burst"], round(first["left"]), round(second["left"])) == (3, 2, 1)
    assert second["full_at"] > first["full_at"]
    assert told["rates"][0]["name"] == "messages"
    assert told["sizes"]["queue_limit"] == 32
    assert {each["name"]: each["limit"] for each in told["allowances"]}["streams"] == 1000


def test_what_a_house_does_is_told_to_owners_and_admins_alone(ben: Api) -> None:
    refused = [ben.get(path) for path in ("/nodes", "/traffic", "/usage", "/audit/reasons")]

    assert [(told.status_code, told.json()["code"]) for told in refused] == [(403, "not_allowed")] * 4
