"""Exporting and erasing over HTTP."""

import io
import json
import zipfile

from tests.server.conftest import House
from tests.server.process import Api


def said(api: Api, text: str) -> str:
    session_id: str = api.post("/chat", {"message": text, "agent": "echo"}).json()["session_id"]
    return session_id


def test_a_session_is_exported_and_erased_by_its_owner_and_nobody_else(house: House, ada: Api, ben: Api) -> None:
    session_id, cora = said(ben, "mine"), house.api("cora")

    exported = ben.get(f"/sessions/{session_id}/export")
    refused = [cora.get(f"/sessions/{session_id}/export"), cora.delete(f"/sessions/{session_id}")]
    erased = ben.delete(f"/sessions/{session_id}")

    assert [answer.json()["code"] for answer in refused] == ["session_not_found"] * 2
    assert exported.headers["content-type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(exported.content))
    assert json.loads(archive.read("index.json"))["subject"] == session_id
    receipt = erased.json()
    assert (erased.status_code, receipt["subject"], receipt["erased_by"]) == (200, session_id, "ben")
    assert receipt["stores"]["database"]["erased"]["messages"] == 2
    assert ben.get(f"/sessions/{session_id}").status_code == 404
    assert ben.get("/receipts").json()["code"] == "not_allowed"
    assert ada.get(f"/receipts/{receipt['id']}").json() == receipt
    assert ada.get("/receipts").json()["items"][0] == receipt
    assert ada.get("/receipts/rcpt_none").json()["code"] == "receipt_not_found"


def test_a_user_is_exported_and_erased_by_itself_or_by_an_owner(house: House, ada: Api, ben: Api) -> None:
    cora, session_id = house.api("cora"), said(ben, "mine")

    refused = [cora.get("/users/ben/export"), cora.delete("/users/ben"), ada.delete("/users/nobody-at-all")]
    archive = zipfile.ZipFile(io.BytesIO(ben.get("/users/ben/export").content))
    erased = ada.delete("/users/ben").json()

    assert [answer.json()["code"] for answer in refused] == ["user_not_found"] * 3
    assert f"sessions/{session_id}/messages.ndjson" in archive.namelist()
    assert (erased["kind"], erased["subject"], erased["erased_by"]) == ("user", "ben", "ada")
    assert session_id in erased["sessions"]
    assert ben.get("/sessions").json()["items"] == []
