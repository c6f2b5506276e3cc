"""Artifacts in ranges, manifests, pointers and outputs over HTTP."""

import hashlib
from typing import Any

import pytest

from tests.server.conftest import House
from tests.server.process import Api

LARGE = bytes(range(256)) * 5_000


def keep(api: Api, content: bytes, name: str = "note.txt") -> dict[str, Any]:
    response = api.client.post(
        f"/api/v1/artifacts?name={name}", content=content, headers={"Content-Type": "text/plain"}
    )
    assert response.status_code == 201, response.text
    read: dict[str, Any] = response.json()
    return read


def a_manifest(api: Api, *contents: bytes, **more: Any) -> dict[str, Any]:
    entries = [{"path": f"{no}.txt", "sha256": keep(api, each)["sha256"]} for no, each in enumerate(contents)]
    made: dict[str, Any] = api.post("/manifests", {"entries": entries, **more}).json()
    return made


def a_pointer(api: Api, name: str, **more: Any) -> dict[str, Any]:
    response = api.post("/pointers", {"name": name, **more})
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


def test_content_comes_in_ranges(ben: Api) -> None:
    kept = keep(ben, LARGE)
    address = f"/api/v1/artifacts/{kept['sha256'].upper()}/content"

    whole = ben.client.get(address)
    part = ben.client.get(address, headers={"Range": "bytes=524280-524299"})
    tail = ben.client.get(address, headers={"Range": "bytes=-5"})
    beyond = ben.client.get(address, headers={"Range": f"bytes={len(LARGE)}-"})
    two = ben.client.get(address, headers={"Range": "bytes=0-1,4-5"})
    other = ben.client.get(address, headers={"Range": "bytes=0-1", "If-Range": '"another"'})
    head = ben.client.head(address)

    assert whole.content == LARGE
    assert (whole.headers["accept-ranges"], whole.headers["content-length"]) == ("bytes", str(len(LARGE)))
    assert (part.status_code, part.content) == (206, LARGE[524280:524300])
    assert part.headers["content-range"] == f"bytes 524280-524299/{len(LARGE)}"
    assert (tail.status_code, tail.content) == (206, LARGE[-5:])
    assert (beyond.status_code, beyond.json()["code"]) == (416, "range_not_satisfiable")
    assert beyond.headers["content-range"] == f"bytes */{len(LARGE)}"
    assert (two.status_code, other.status_code) == (200, 200)
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(LARGE)))
    assert head.headers["etag"] == f'"{hashlib.sha256(LARGE).hexdigest()}"'


def test_everyone_lists_what_they_keep_and_an_owner_what_the_tenant_keeps(ada: Api, ben: Api) -> None:
    his, hers = keep(ben, b"of Ben")["id"], keep(ada, b"of Ada")["id"]

    listed = [artifact["id"] for artifact in ben.get("/artifacts").json()["items"]]
    first = ada.get("/artifacts?limit=1").json()
    second = ada.get(f"/artifacts?limit=1&cursor={first['next']}").json()

    assert listed[0] == his
    assert hers not in listed
    assert [page["items"][0]["id"] for page in (first, second)] == [hers, his]


def test_a_manifest_is_made_read_and_compared(ben: Api) -> None:
    first = a_manifest(ben, b"one", b"two", message="First")
    second = a_manifest(ben, b"one", b"changed", b"three", parent=first["sha256"])
    again = a_manifest(ben, b"one", b"two")

    address = f"/manifests/{second['sha256']}"
    page = ben.get(f"{address}/entries?limit=2").json()
    rest = ben.get(f"{address}/entries?limit=2&cursor={page['next']}").json()
    diff = ben.get(f"{address}/diff?against={first['sha256']}").json()
    history = ben.get(f"{address}/history").json()["items"]

    assert (first["is_duplicate"], again["is_duplicate"], again["message"]) == (False, True, "First")
    assert [each["path"] for each in page["items"] + rest["items"]] == ["0.txt", "1.txt", "2.txt"]
    assert [each["path"] for each in diff["added"]] == ["2.txt"]
    assert [each["path"] for each in diff["modified"]] == ["1.txt"]
    assert [each["sha256"] for each in history] == [second["sha256"], first["sha256"]]
    assert ben.get(f"/manifests/{second['sha256'].upper()}").json()["entry_count"] == 3


def test_what_cannot_be_in_a_manifest_is_named(ben: Api) -> None:
    known = keep(ben, b"known")["sha256"]

    missing = ben.post("/manifests", {"entries": [{"path": "a", "sha256": known}, {"path": "b", "sha256": "0" * 64}]})
    twice = ben.post("/manifests", {"entries": [{"path": "../a", "sha256": known}, {"path": "../a", "sha256": known}]})
    orphan = ben.post("/manifests", {"entries": [], "parent": "0" * 64})

    assert (missing.status_code, missing.json()["code"]) == (400, "artifacts_missing")
    assert [each["path"] for each in missing.json()["details"]] == ["b"]
    assert (twice.status_code, twice.json()["code"]) == (422, "manifest_invalid")
    assert (orphan.status_code, orphan.json()["code"]) == (404, "manifest_not_found")


def test_a_pointer_moves_by_compare_and_set(ben: Api) -> None:
    one, two = a_manifest(ben, b"1")["sha256"], a_manifest(ben, b"2")["sha256"]
    pointer = a_pointer(ben, "moving", namespace="tests")
    address = f"/pointers/{pointer['id']}"

    first = ben.post(f"{address}/advance", {"manifest": one, "expected": None})
    stale = ben.post(f"{address}/advance", {"manifest": two, "expected": None})
    freely = ben.post(f"{address}/advance", {"manifest": two, "reason": "better"})
    emptied = ben.post(f"{address}/reset", {})
    history = ben.get(f"{address}/history").json()["items"]

    assert first.json()["manifest"] == one
    assert (stale.status_code, stale.json()["code"], stale.json()["current"]) == (409, "pointer_moved", one)
    assert (freely.json()["manifest"], emptied.json()["manifest"]) == (two, None)
    assert [each["operation"] for each in history] == ["reset", "advance", "advance", "create"]
    assert history[1]["reason"] == "better"
    assert ben.get(f"{address}/resolve").json() == {"pointer_id": pointer["id"], "manifest": None}


def test_a_pointer_is_found_by_name_and_a_name_is_taken_once(ben: Api, gus: Api) -> None:
    pointer = a_pointer(ben, "history", namespace="resolve")
    by_name = "/pointers/by-name/resolve/history"

    taken = ben.post("/pointers", {"name": "history", "namespace": "resolve"})
    found = ben.get(by_name)
    listed = ben.get("/pointers?namespace=resolve").json()["items"]
    deleted = ben.client.delete(f"/api/v1/pointers/{pointer['id']}")

    assert (taken.status_code, taken.json()["code"]) == (409, "pointer_exists")
    assert found.json()["id"] == pointer["id"]
    assert [each["id"] for each in listed] == [pointer["id"]]
    assert deleted.json()["deleted_at"] is not None
    assert ben.get(by_name).status_code == 404
    assert ben.get(f"/pointers/{pointer['id']}").status_code == 404
    assert ben.get(f"/pointers/{pointer['id']}/history").json()["items"][0]["operation"] == "delete"
    assert gus.get(f"/pointers/{pointer['id']}/history").status_code == 404
    assert a_pointer(ben, "history", namespace="resolve")["id"] != pointer["id"]


def test_a_snapshot_is_frozen_and_a_corpus_is_governed(ada: Api, ben: Api) -> None:
    one, two = a_manifest(ben, b"1")["sha256"], a_manifest(ben, b"2")["sha256"]
    snapshot, corpus = a_pointer(ben, "shot", kind="snapshot", manifest=one), a_pointer(ben, "corpus", kind="corpus")

    frozen = ben.post(f"/pointers/{snapshot['id']}/advance", {"manifest": two})
    refused = ben.post(f"/pointers/{corpus['id']}/advance", {"manifest": one})
    moved = ada.post(f"/pointers/{corpus['id']}/advance", {"manifest": one})

    assert (frozen.status_code, frozen.json()["code"]) == (409, "pointer_frozen")
    assert (refused.status_code, moved.status_code) == (403, 200)


def test_nyqst_61_publishing_shows_in_outputs_feed_and_cost(ben: Api) -> None:
    session_id = ben.chat("hello")["session_id"]
    pointer = a_pointer(ben, "published")
    entries = [{"path": f"{no}.txt", "sha256": keep(ben, f"published {no}".encode())["sha256"]} for no in range(2)]

    published = ben.post(f"/sessions/{session_id}/publish", {"entries": entries, "pointer": "default/published"})
    stale = ben.post(
        f"/sessions/{session_id}/publish", {"entries": entries[:1], "pointer": pointer["id"], "expected": None}
    )
    outputs = ben.get(f"/sessions/{session_id}/outputs?limit=3").json()
    rest = ben.get(f"/sessions/{session_id}/outputs?cursor={outputs['next']}").json()

    assert published.status_code == 201, published.text
    assert (stale.status_code, stale.json()["current"]) == (409, published.json()["manifest"]["sha256"])
    assert [each["kind"] for each in outputs["items"] + rest["items"]] == [
        "artifact",
        "artifact",
        "manifest",
        "pointer",
    ]
    assert outputs["counts"] == {"artifacts": 2, "manifests": 1, "pointer_moves": 1}
    assert ben.get(f"/sessions/{session_id}/cost").json()["output_bytes"] == 22
    assert [each["no"] for each in ben.get(f"/sessions/{session_id}/outputs?kind=pointer").json()["items"]] == [
        rest["items"][-1]["no"]
    ]


def test_storage_is_told_to_owner_and_admin(ada: Api, ben: Api) -> None:
    session_id = ben.chat("how much is it")["session_id"]

    storage = ada.get("/storage").json()

    assert storage["blob_bytes"] >= 0
    assert storage["by_class"]["none"]["sessions"] >= 1
    assert session_id in {each["session_id"] for each in storage["sessions"]} or len(storage["sessions"]) == 100
    assert ben.get("/storage").status_code == 403


@pytest.mark.parametrize("user", ["vera", "gus"])
def test_nyqst_68_who_may_not_write_or_is_of_another_tenant_gets_nowhere(house: House, ben: Api, user: str) -> None:
    other = house.api(user)
    note, manifest = keep(ben, b"mine alone"), a_manifest(ben, f"seen by {user}".encode())
    pointer = a_pointer(ben, f"of-{user}", manifest=manifest["sha256"])
    session_id = ben.chat("hello")["session_id"]

    assert other.get(f"/artifacts/{note['sha256']}/content").status_code == 404
    assert other.get(f"/sessions/{session_id}/outputs").status_code == 404
    assert other.get(f"/sessions/{session_id}/cost").status_code == 404
    seen = 200 if user == "vera" else 404
    assert other.get(f"/manifests/{manifest['sha256']}").status_code == seen
    assert other.get(f"/pointers/{pointer['id']}").status_code == seen
    moving = other.post(f"/pointers/{pointer['id']}/reset", {})
    assert moving.status_code == (403 if user == "vera" else 404)
