"""Packs and intents over HTTP."""

import base64
import uuid
from typing import Any

import pytest

from tests.archives import archive_of
from tests.server.conftest import House
from tests.server.process import Api
from tests.story.packed import desk


def files(version: str = "1.0.0", *, id: str | None = None, **more: str) -> dict[str, str]:
    """The desk under an id of its own, since the server keeps what other tests have pushed."""
    name = id or f"desk-{uuid.uuid4().hex[:8]}"
    own = desk(version, **more)
    return {**own, "pack.yaml": own["pack.yaml"].replace("id: desk", f"id: {name}")}


def pushed(api: Api, *args: Any, **kwargs: Any) -> dict[str, Any]:
    answer = api.post("/packs", {"files": files(*args, **kwargs)})
    assert answer.status_code == 201, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_a_pack_is_pushed_listed_and_read_with_its_files(ada: Api, ben: Api) -> None:
    written = files()

    made = ada.post("/packs", {"files": written})

    told = made.json()
    read = ben.client.get(made.headers["location"]).json()
    assert made.status_code == 201
    assert (told["version"], told["pushed_by"]) == ("1.0.0", "ada")
    assert told["ref"] in [pack["ref"] for pack in ben.get("/packs?limit=200").json()["items"]]
    assert (read["files"], read["title"], read["hash"]) == (written, "A desk for tests", told["hash"])
    assert [intent["code"] for intent in read["intents"] if intent["has_form"]] == ["BOOK_TABLE", "BUY_VOUCHER"]


def test_a_pack_comes_as_an_archive_too(ada: Api) -> None:
    archive = base64.b64encode(archive_of(files())).decode()

    assert ada.post("/packs", {"archive": archive}).status_code == 201


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/files"),
        ({"files": {}, "archive": "aGVsbG8="}, "/files"),
        ({"archive": "not base64!"}, "/archive"),
        ({"files": {"pack.yaml": 5}}, "/files/pack.yaml"),
    ],
)
def test_a_push_without_files_says_what_is_missing(ada: Api, body: dict[str, Any], pointer: str) -> None:
    refused = ada.post("/packs", body)

    assert (refused.status_code, refused.json()["code"]) == (422, "envelope_invalid")
    assert refused.json()["details"][0]["pointer"] == pointer


def test_a_faulty_pack_is_refused_with_all_of_its_faults_by_file_and_line(ada: Api) -> None:
    broken = files(**{"intents/all.yaml": "- code: book\n  colour: red\n", "schemas/NOBODY.json": "{}"})

    refused = ada.post("/packs", {"files": broken})

    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (422, "pack_invalid")
    places = {(fault["file"], fault["line"]) for fault in problem["details"]}
    assert {("intents/all.yaml", 1), ("intents/all.yaml", 2)} <= places
    assert any(fault["file"] == "schemas/NOBODY.json" for fault in problem["details"])
    assert ada.get(f"/packs/{broken['pack.yaml'].split()[1]}").status_code == 404


def test_the_same_files_again_are_no_fault_and_others_are(ada: Api) -> None:
    first = files()
    told = ada.post("/packs", {"files": first}).json()

    again = ada.post("/packs", {"files": first})
    other = ada.post("/packs", {"files": {**first, "README.md": "New"}})

    assert (again.status_code, again.json()["hash"]) == (201, told["hash"])
    assert (other.status_code, other.json()["code"]) == (409, "pack_immutable")


def test_who_may_not_push_or_override_is_told_so(ben: Api, ada: Api) -> None:
    ref = pushed(ada)

    for refused in (
        ben.post("/packs", {"files": files()}),
        ben.client.put(f"/api/v1/packs/{ref['id']}/config/STICKY_INTENT", json={"value": False}),
        ben.client.delete(f"/api/v1/packs/{ref['id']}/config/STICKY_INTENT"),
    ):
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")


def test_another_tenant_sees_no_pack(ada: Api, gus: Api) -> None:
    ref = pushed(ada)["ref"]

    assert gus.get(f"/packs/{ref}").status_code == 404
    assert gus.post("/chat", {"message": "hello", "pack": ref}).json()["code"] == "pack_not_found"
    assert ref not in [pack["ref"] for pack in gus.get("/packs").json()["items"]]


def test_a_conversation_with_a_pack_tells_its_intent(ada: Api, ben: Api) -> None:
    pack = pushed(ada)

    begun = ben.post("/chat", {"message": "I want to book a table", "pack": pack["id"]}).json()
    filled = ben.post("/chat", {"message": "4", "session_id": begun["session_id"], "params": {"day": "friday"}}).json()

    assert begun["intent"] == {
        "code": "BOOK_TABLE",
        "state": "DETAILS",
        "locked": True,
        "missing": ["party_size", "day"],
    }
    assert filled["intent"] == {"code": "BOOK_TABLE", "state": "DONE", "locked": False, "missing": []}
    assert filled["text"] == "Booked for 4 on friday."
    session = ben.get(f"/sessions/{begun['session_id']}").json()
    assert session["packs"] == [pack["ref"]]
    assert session["intent"] == filled["intent"]


def test_a_stream_tells_the_intent_with_its_last_frame(ada: Api, ben: Api) -> None:
    pack = pushed(ada)

    last = ben.stream_chat("I want to book a table", pack=pack["ref"])[-1]

    assert last.type == "run.completed"
    assert last.data["data"]["intent"]["code"] == "BOOK_TABLE"


def test_all_that_a_session_holds_about_its_intent_can_be_read(ada: Api, ben: Api) -> None:
    pack = pushed(ada)
    begun = ben.post("/chat", {"message": "book a voucher", "pack": pack["id"], "params": {"city": "Narva"}}).json()
    session_id = begun["session_id"]
    asked = ben.get(f"/sessions/{session_id}/intent").json()

    ben.post("/chat", {"message": "the first one", "session_id": session_id})
    held = ben.get(f"/sessions/{session_id}/intent").json()

    assert asked["clarification"]["options"][0] == {"code": "BOOK_TABLE", "label": "Book a table"}
    assert (asked["code"], asked["params"]) == ("UNKNOWN", {"city": "Narva"})
    assert (held["code"], held["clarification"], held["asked"]) == ("BOOK_TABLE", None, "party_size")
    assert held["lock"]["missing"] == ["party_size", "day"]


def test_a_session_keeps_the_pack_of_its_first_turn(ada: Api, ben: Api) -> None:
    pack = pushed(ada)
    newer = pushed(ada, "1.1.0", id=pack["id"])
    begun = ben.post("/chat", {"message": "hello", "pack": pack["ref"]}).json()["session_id"]

    same = ben.post("/chat", {"message": "hello", "session_id": begun, "pack": pack["id"]})
    other = ben.post("/chat", {"message": "hello", "session_id": begun, "pack": newer["ref"]})

    assert same.status_code == 200
    assert (other.status_code, other.json()["code"]) == (409, "pack_version_mismatch")
    (told,) = other.json()["details"]
    assert (told["pointer"], told["pack_id"]) == ("/pack", pack["id"])
    assert (told["pinned"], told["requested"]) == (pack["ref"], newer["ref"])
    assert ben.get(f"/sessions/{begun}").json()["turns"] == 2


def test_a_session_is_pinned_anew_on_purpose(ada: Api, ben: Api) -> None:
    pack = pushed(ada)
    newer = pushed(ada, "1.1.0", id=pack["id"])
    begun = ben.post("/chat", {"message": "hello", "pack": pack["ref"]}).json()["session_id"]

    repinned = ben.post(f"/sessions/{begun}/repin", {"pack": newer["id"]})

    assert (repinned.status_code, repinned.json()["packs"]) == (200, [newer["ref"]])
    assert ben.post("/chat", {"message": "hi", "session_id": begun, "pack": newer["ref"]}).status_code == 200
    assert ben.post(f"/sessions/{begun}/repin", {"pack": "nobody"}).json()["code"] == "pack_not_found"


def test_a_session_that_began_without_a_pack_takes_none_later(ada: Api, ben: Api) -> None:
    pack = pushed(ada)
    begun = ben.post("/chat", {"message": "hello"}).json()["session_id"]

    refused = ben.post("/chat", {"message": "hello", "session_id": begun, "pack": pack["id"]})

    assert (refused.status_code, refused.json()["code"]) == (409, "pack_version_mismatch")


def test_what_a_tenant_wants_otherwise_is_read_set_switched_off_and_dropped(ada: Api, ben: Api) -> None:
    pack = pushed(ada)["id"]
    address = f"/api/v1/packs/{pack}/config/MIN_CONFIDENCE"

    made = ada.client.put(address, json={"value": 0.9})
    held = ben.get(f"/packs/{pack}/config").json()
    off = ada.client.put(address, json={"value": 0.9, "enabled": False})
    ignored = ben.get(f"/packs/{pack}/config").json()
    gone = ada.client.delete(address)

    assert (made.status_code, held["config"]["MIN_CONFIDENCE"]) == (200, 0.9)
    assert [each["changed_by"] for each in held["overrides"]] == ["ada"]
    assert (off.json()["enabled"], ignored["config"]["MIN_CONFIDENCE"]) == (False, 0.55)
    assert (gone.status_code, ben.get(f"/packs/{pack}/config").json()["overrides"]) == (204, [])


@pytest.mark.parametrize(
    ("key", "value"), [("MIN_CONFIDENCE", 7), ("min_confidence", 0.5), ("COLOUR", 1), ("STICKY_INTENT", "maybe")]
)
def test_what_cannot_be_wanted_is_refused(ada: Api, key: str, value: Any) -> None:
    pack = pushed(ada)["id"]

    refused = ada.client.put(f"/api/v1/packs/{pack}/config/{key}", json={"value": value})

    assert (refused.status_code, refused.json()["code"]) == (422, "envelope_invalid")
    assert ada.get(f"/packs/{pack}/config").json()["overrides"] == []


def test_an_intent_that_needs_a_grant_is_for_those_who_have_it(house: House, ada: Api, ben: Api) -> None:
    named = "  name: Buy a voucher"
    intents = desk()["intents/all.yaml"].replace(named, f"{named}\n  grants: ['vouchers:buy']")
    pack = pushed(ada, **{"intents/all.yaml": intents})["id"]
    wish = {"message": "I want to buy a voucher", "pack": pack}

    refused = ben.post("/chat", wish)

    assert (refused.status_code, refused.json()["code"]) == (403, "scope_insufficient")
    assert refused.json()["stage"] == "materialize"
    assert "vouchers:buy" in refused.json()["detail"]
    for allowed in (house.api("cora"), ada):
        assert allowed.post("/chat", wish).json()["intent"]["code"] == "BUY_VOUCHER"


def test_a_reset_by_text_answers_at_once_and_leaves_no_turn(ada: Api, ben: Api) -> None:
    pack = pushed(ada)
    begun = ben.post("/chat", {"message": "I want to book a table", "pack": pack["id"]}).json()

    reset = ben.post("/chat", {"message": "/reset", "session_id": begun["session_id"], "params": {"city": "Narva"}})

    told = reset.json()
    held = ben.get(f"/sessions/{begun['session_id']}/intent").json()
    assert (reset.status_code, told["text"], told["status"]) == (200, "We start afresh.", "completed")
    assert "turn" not in told
    assert (held["code"], held["params"], held["lock"]) == ("UNKNOWN", {"city": "Narva"}, None)
    assert ben.get(f"/sessions/{begun['session_id']}").json()["epoch"] == 2


def test_a_control_param_that_cannot_be_understood_is_refused(ben: Api) -> None:
    refused = ben.post("/chat", {"message": "hello", "params": {"reset": "perhaps", "switch_flow": []}})

    assert refused.status_code == 422
    assert [fault["pointer"] for fault in refused.json()["details"]] == ["/params/reset", "/params/switch_flow"]
