"""Knowledge bases over HTTP."""

from typing import Any

import pytest

from tests.server.conftest import House
from tests.server.process import Api

FERRY = {"name": "ferry.md", "content": "# Ferry\n\nThe ferry takes cars.\n", "kind": "markdown"}


def a_base(api: Api, name: str = "Handbook") -> str:
    base_id: str = api.post("/kbs", {"name": name}).json()["id"]
    return base_id


def test_a_base_is_made_filled_and_read(ben: Api) -> None:
    made = ben.post("/kbs", {"name": "Handbook"})
    base_id = made.json()["id"]

    added = ben.post(f"/kbs/{base_id}/sources", FERRY)

    read = ben.client.get(made.headers["location"])
    assert (made.status_code, added.status_code) == (201, 201)
    assert (made.headers["etag"], read.headers["etag"]) == ('"0"', '"1"')
    assert {name: read.json()[name] for name in ("name", "revision", "sources", "units")} == {
        "name": "Handbook",
        "revision": 1,
        "sources": 1,
        "units": 1,
    }
    (source,) = ben.get(f"/kbs/{base_id}/sources").json()["items"]
    assert (source["id"], source["kind"]) == (added.json()["id"], "markdown")
    assert "content" not in source
    assert ben.get(f"/kbs/{base_id}/sources/{source['id']}").json()["content"] == FERRY["content"]
    assert ben.get(f"/kbs/{base_id}/sources/src_never").status_code == 404
    (item,) = ben.get(f"/kbs/{base_id}/units").json()["items"]
    assert (item["unit"]["claim"], item["unit"]["section_title"]) == ("The ferry takes cars.", "Ferry")
    assert base_id in [base["id"] for base in ben.get("/kbs").json()["items"]]


def test_fact_11_a_fork_is_a_base_of_its_own(ben: Api) -> None:
    base_id = a_base(ben)
    ben.post(f"/kbs/{base_id}/sources", FERRY)

    fork = ben.post("/kbs", {"name": "Copy", "parent_id": base_id}).json()
    (copied,) = ben.get(f"/kbs/{fork['id']}/sources").json()["items"]
    ben.client.delete(f"/api/v1/kbs/{fork['id']}/sources/{copied['id']}")

    assert (fork["parent_id"], fork["units"]) == (base_id, 1)
    assert ben.get(f"/kbs/{base_id}").json()["units"] == 1
    assert ben.get(f"/kbs/{fork['id']}").json()["units"] == 0


def test_a_source_is_added_only_while_the_base_has_the_expected_etag(ben: Api) -> None:
    base_id = a_base(ben)
    address = f"/api/v1/kbs/{base_id}/sources"

    first = ben.client.post(address, json=FERRY, headers={"If-Match": '"0"'})
    second = ben.client.post(address, json={**FERRY, "name": "two"}, headers={"If-Match": '"0"'})

    assert (first.status_code, first.headers["etag"]) == (201, '"1"')
    assert (second.status_code, second.json()["code"]) == (412, "revision_moved")


def test_a_base_is_mounted_and_unmounted(ben: Api) -> None:
    base_id, session_id = a_base(ben), ben.post("/sessions").json()["id"]
    ben.post(f"/kbs/{base_id}/sources", FERRY)
    address = f"/api/v1/sessions/{session_id}/mounts/{base_id}"

    mounted = ben.client.put(address)
    unmounted = ben.client.delete(address)

    (mount,) = mounted.json()["mounts"]
    assert (mount["kind"], mount["id"], mount["revision"]) == ("knowledge_base", base_id, 1)
    assert unmounted.json()["mounts"] == []
    assert ben.client.delete(address).json()["code"] == "knowledge_base_not_found"


def test_what_a_session_knows_becomes_a_source(ben: Api) -> None:
    base_id, session_id = a_base(ben), ben.post("/sessions").json()["id"]
    empty = ben.post(f"/kbs/{base_id}/sources", {"session_id": session_id})
    ben.post(f"/sessions/{session_id}/units", {"text": "The ferry takes cars."})

    saved = ben.post(f"/kbs/{base_id}/sources", {"session_id": session_id})

    assert (empty.status_code, empty.json()["code"]) == (422, "envelope_invalid")
    assert (saved.status_code, saved.json()["kind"], saved.json()["units"]) == (201, "conversation-journal", 1)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "x"},
        {"content": "x"},
        {"name": "x", "content": "x", "session_id": "sess_x"},
        {"name": "x", "content": "x", "kind": "pdf"},
        {"name": "x", "content": " "},
        {"name": "x", "content": "\x00"},
    ],
)
def test_what_is_no_source_is_refused(ben: Api, body: dict[str, Any]) -> None:
    refused = ben.post(f"/kbs/{a_base(ben)}/sources", body)

    assert (refused.status_code, refused.json()["code"]) == (422, "envelope_invalid")


def test_a_base_belongs_to_its_tenant_and_viewers_do_not_write(ben: Api, gus: Api, house: House) -> None:
    base_id = a_base(ben)
    vera = house.api("vera")

    assert gus.get(f"/kbs/{base_id}").json()["code"] == "knowledge_base_not_found"
    assert gus.post(f"/kbs/{base_id}/sources", FERRY).json()["code"] == "knowledge_base_not_found"
    assert vera.get(f"/kbs/{base_id}").status_code == 200
    assert vera.post("/kbs", {"name": "Mine"}).json()["code"] == "not_allowed"
    assert vera.post(f"/kbs/{base_id}/sources", FERRY).json()["code"] == "not_allowed"
