"""Channels, bindings, contacts, deliveries and artifacts over HTTP."""

import base64
import hashlib
import json
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import House
from tests.server.process import Api, a_server
from turnkeeper.channels.signatures import signature_of

SECRET = "whsec_" + base64.b64encode(b"a secret of the binding").decode()
HTML = b"<script>alert(1)</script>"


def a_door(api: Api, **more: Any) -> dict[str, Any]:
    answer = api.post("/bindings", {"channel": "email", "name": "mail", "strangers": "guest", **more})
    assert answer.status_code == 201, answer.text
    told: dict[str, Any] = answer.json()
    return told


def a_signed_door(api: Api, **more: Any) -> dict[str, Any]:
    return a_door(api, **{"channel": "webhook", "auth": "signature", "secrets": [SECRET], **more})


def a_mail(text: str = "Hello", sender: str | None = None) -> bytes:
    name = uuid.uuid4().hex
    return (
        f"From: {sender or f'{name}@example.org'}\r\nMessage-ID: <{name}@example.org>\r\nSubject: Hi\r\n\r\n{text}\r\n"
    ).encode()


def bring(api: Api, door: dict[str, Any], body: bytes, query: str = "", **headers: str) -> Any:
    sent = {"Content-Type": "message/rfc822", **headers}
    return api.client.post(f"{door['address']}{query}", content=body, headers=sent)


def signed(payload: dict[str, Any], *, id: str | None = None) -> tuple[bytes, dict[str, str]]:
    body, name, now = json.dumps(payload).encode(), id or uuid.uuid4().hex, str(int(time.time()))
    signature = base64.b64encode(signature_of(SECRET, f"{name}.{now}.".encode() + body)).decode()
    return body, {"webhook-id": name, "webhook-timestamp": now, "webhook-signature": f"v1,{signature}"}


def test_a_mail_is_taken_in_and_the_same_mail_again_attaches(ada: Api) -> None:
    door, mail = a_door(ada), a_mail()

    first, again = bring(ada, door, mail), bring(ada, door, mail)

    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json().keys() == {"run_id", "session_id", "status", "attached", "delivery_id"}
    assert (first.json()["attached"], again.json()["attached"]) == (False, True)
    assert first.json()["run_id"] == again.json()["run_id"]


def test_who_waits_gets_the_answer(ada: Api) -> None:
    answer = bring(ada, a_door(ada), a_mail("Good evening"), "?wait=true")

    assert answer.status_code == 200
    assert answer.json()["text"] == "You said 'Good evening'. This is turn 1 of our conversation."


def test_a_sign_of_life_is_answered_with_nothing(ada: Api) -> None:
    mail = b"Auto-Submitted: auto-replied\r\n" + a_mail("I am away")

    answer = bring(ada, a_door(ada), mail)

    assert (answer.status_code, answer.content) == (204, b"")


def test_a_signed_request_needs_no_token_and_an_unsigned_one_is_refused(house: House, ada: Api) -> None:
    door, nobody = a_signed_door(ada), house.api(None)
    body, headers = signed({"order": 1})

    taken = bring(nobody, door, body, **headers)
    forged = bring(nobody, door, body + b" ", **headers)
    bare = bring(nobody, door, body)
    with_token = bring(ada, door, body)

    assert taken.status_code == 202
    for refused in (forged, bare, with_token):
        assert (refused.status_code, refused.json()["code"]) == (401, "webhook_signature_invalid")
        assert refused.json()["stage"] == "receive"


def test_junk_without_a_token_uses_up_its_door_and_not_what_the_tenant_may_send(house: House, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("rate = {per_second = 0.01, burst = 6}")
    database, identities = tmp_path / "conversations.db", str(house.identities)
    with a_server(database, "--identities", identities, TURNKEEPER_POLICY=str(policy)) as server:
        ada, nobody = server.api("token-of-ada"), server.api(None)
        door, quiet = a_signed_door(ada), a_signed_door(ada)

        junk = [bring(nobody, door, b"{}").status_code for _ in range(9)]
        spoken = [ada.post("/chat", {"message": "Hello"}).status_code for _ in range(5)]
        body, headers = signed({"order": 1})
        taken = bring(nobody, quiet, body, **headers)
        body, headers = signed({"order": 2})
        limited = bring(nobody, quiet, body, **headers)

    assert junk == [401] * 6 + [429] * 3
    assert spoken == [200] * 5
    # Who is vouched for speaks for the tenant.
    assert (taken.status_code, limited.status_code, limited.json()["code"]) == (202, 429, "rate_limited")


def test_what_a_sender_puts_into_authorization_does_not_matter_where_a_signature_counts(house: House, ada: Api) -> None:
    body, headers = signed({"order": 1})

    taken = bring(house.api(None), a_signed_door(ada), body, Authorization="Bearer of-somebody-else", **headers)

    assert taken.status_code == 202


def test_a_token_binding_lets_nobody_in_without_a_token_of_its_tenant(
    house: House, ada: Api, ben: Api, gus: Api
) -> None:
    door = a_door(ada)

    answers = [bring(api, door, a_mail()) for api in (house.api(None), house.api("old"), gus, ben)]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
        (401, "unauthenticated"),
        (401, "token_expired"),
        (404, "binding_not_found"),
        (403, "not_allowed"),
    ]


def test_a_gateway_with_the_grant_brings_messages_of_others(house: House, ada: Api) -> None:
    assert bring(house.api("gateway"), a_door(ada), a_mail()).status_code == 202


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("/api/v1/channels/pigeon/bind_1", 400, "channel_unsupported"),
        ("/api/v1/channels/email/bind_1", 404, "binding_not_found"),
        ("/api/v1/channels/email/no%20id", 404, "binding_not_found"),
    ],
)
def test_a_door_that_is_not_there_is_told_to_who_has_a_token(
    house: House, ada: Api, address: str, status: int, code: str
) -> None:
    answer = bring(ada, {"address": address}, b"{}")
    stranger = bring(house.api(None), {"address": address}, b"{}")

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert (stranger.status_code, stranger.json()["code"]) == (401, "unauthenticated")


def test_a_body_may_be_larger_here_than_elsewhere_and_not_without_end(ada: Api) -> None:
    door = a_door(ada)
    part = base64.encodebytes(b"x" * 2_000_000)
    mail = (
        b"From: a@example.org\r\nMessage-ID: <" + uuid.uuid4().hex.encode() + b"@x>\r\n"
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nSee this\r\n"
        b"--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\n" + part + b"--b--\r\n"
    )

    taken = bring(ada, door, mail)
    too_large = bring(ada, door, b"x" * 31_457_281)

    assert taken.status_code == 202, taken.text
    assert (too_large.status_code, too_large.json()["code"]) == (413, "body_too_large")


def test_what_is_no_message_of_its_channel_is_refused_with_its_place(ada: Api) -> None:
    refused = bring(ada, a_door(ada, channel="sms"), b'{"From": "me", "Body": "x"}')

    assert (refused.status_code, refused.json()["code"]) == (400, "channel_payload_invalid")
    assert refused.json()["details"][0]["pointer"] == "/From"


def test_a_stranger_is_refused_where_only_contacts_are_taken(ada: Api) -> None:
    refused = bring(ada, a_door(ada, strangers="refuse"), a_mail())

    assert (refused.status_code, refused.json()["code"]) == (403, "sender_unknown")


def test_bindings_are_made_read_changed_listed_and_removed_and_never_show_a_secret(ada: Api) -> None:
    reply = {"kind": "http", "url": "http://127.0.0.1:9/out", "secret": SECRET}
    made = a_signed_door(ada, reply=reply, grants=["orders:read"], settings={"unsigned": False}, agent="echo")
    path = f"/bindings/{made['id']}"

    changed = ada.client.patch(f"/api/v1{path}", json={"name": "shop", "enabled": False})
    listed = ada.get("/bindings?limit=200")
    read = ada.get(path)
    removed = ada.client.delete(f"/api/v1{path}")

    assert (made["secrets"], made["reply"]) == (1, {"kind": "http", "url": reply["url"], "has_secret": True})
    assert changed.json() == {**made, "name": "shop", "enabled": False, "updated_at": changed.json()["updated_at"]}
    assert read.json() == changed.json()
    assert made["id"] in [each["id"] for each in listed.json()["items"]]
    assert not any(SECRET[8:] in answer.text for answer in (changed, listed, read))
    assert (removed.status_code, ada.get(path).status_code) == (204, 404)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"auth": "signature"}, None),
        ({"reply": {"kind": "http"}}, "/reply/url"),
        ({"reply": {"kind": "http", "url": "http://x/", "secret": "short"}}, "/reply/secret"),
        ({"reply": {"kind": "smtp"}}, "/reply/kind"),
        ({"reply": {"kind": "none", "url": "http://x/"}}, "/reply/url"),
        ({"strangers": "welcome"}, "/strangers"),
        ({"grants": ["a b"]}, "/grants/0"),
        ({"secret": SECRET}, "/secret"),
        ({"agent": "nobody"}, "/agent"),
        ({"pack": "no-such-pack"}, "/pack"),
        ({"settings": {"take_automatic": "yes"}}, "/settings/take_automatic"),
        ({"settings": {"attachment_bytes": True}}, "/settings/attachment_bytes"),
        ({"settings": {"locale": 3}}, "/settings/locale"),
        ({"settings": {"take/automatic": True}}, "/settings/take~1automatic"),
        ({"channel": "api", "settings": {"schema": "any"}}, "/settings/schema"),
        ({"channel": "webhook", "auth": "signature", "secrets": [SECRET, "hunter2"]}, "/secrets/1"),
        ({"channel": "sms", "reply": {"kind": "smtp"}}, "/reply/kind"),
    ],
)
def test_terms_that_cannot_be_are_refused(ada: Api, body: dict[str, Any], pointer: str | None) -> None:
    refused = ada.post("/bindings", {"channel": "email", "name": "mail", **body})

    assert (refused.status_code, refused.json()["code"]) == (422, "envelope_invalid")
    assert [detail["pointer"] for detail in refused.json().get("details", [])] == ([pointer] if pointer else [])
    assert SECRET not in refused.text


def test_an_unknown_channel_is_refused_with_those_that_there_are(ada: Api) -> None:
    refused = ada.post("/bindings", {"channel": "pigeon", "name": "x"})
    known = ada.get("/channels").json()

    assert (refused.status_code, refused.json()["code"]) == (400, "channel_unsupported")
    assert [detail["pointer"] for detail in refused.json()["details"]] == ["/channel"]
    assert {channel["name"] for channel in known} >= {"app_chat", "email", "voice", "api", "webhook", "sms"}


def test_members_neither_see_nor_change_bindings(ada: Api, ben: Api, gus: Api) -> None:
    door = a_door(ada)

    assert ben.get("/bindings").status_code == ben.get(f"/bindings/{door['id']}").status_code == 403
    assert ben.post("/bindings", {"channel": "email", "name": "x"}).status_code == 403
    assert ben.client.delete(f"/api/v1/bindings/{door['id']}").status_code == 403
    assert gus.get(f"/bindings/{door['id']}").status_code == 404


def test_a_contact_goes_on_with_a_session_of_the_web(ada: Api, ben: Api) -> None:
    door = a_door(ada, strangers="refuse")
    path = f"/api/v1/bindings/{door['id']}/contacts"
    web = ben.post("/chat", {"message": "on the web"}).json()

    put = ada.client.put(path, json={"address": "Ben@Example.org", "user": "ben"})
    moved = ben.client.put(path, json={"address": "ben@example.org", "session_id": web["session_id"]})
    mailed = bring(ada, door, a_mail("by mail", "ben@example.org"), "?wait=true").json()
    listed = ben.client.get(path).json()["items"]
    stolen = ben.client.put(path, json={"address": "ada@example.org", "user": "ben"})
    gone = ada.client.delete(path, params={"address": "BEN@example.org"})
    gone_already = ada.client.delete(path, params={"address": "ben@example.org"})

    assert (put.status_code, put.json()["session_id"], moved.json()["session_id"]) == (200, None, web["session_id"])
    assert (mailed["session_id"], mailed["turn"]) == (web["session_id"], 2)
    assert [(each["address"], each["user"]) for each in listed] == [("ben@example.org", "ben")]
    assert (stolen.status_code, gone.status_code, gone_already.status_code) == (404, 204, 404)


def test_what_did_not_go_out_is_listed_and_sent_again_when_asked(house: House, ada: Api, ben: Api) -> None:
    refusing = {"kind": "http", "url": f"{house.server.url}/nobody-takes-this", "secret": SECRET}
    door = a_door(ada, reply=refusing)
    answer = bring(ada, door, a_mail(), "?wait=true").json()
    path = f"/deliveries?session_id={answer['session_id']}"

    delivery = over(ada, path)
    again = ada.post(f"/deliveries/{delivery['id']}/retry")
    second = over(ada, path)

    told = (delivery["run_id"], delivery["text"], delivery["binding"], delivery["error"])
    assert told == (answer["run_id"], answer["text"], door["id"], "The receiver answered with 404.")
    assert (again.status_code, again.json()["id"], again.json()["status"]) == (202, delivery["id"], "pending")
    assert (second["status"], second["attempts"]) == ("failed", 2)
    assert ada.get(f"{path}&status=sent").json()["items"] == []
    assert ada.get("/deliveries?status=lost").status_code == 422
    assert ada.post("/deliveries/dlv_1/retry").json()["code"] == "delivery_not_found"
    assert (ben.get(path).status_code, ben.get("/deliveries").status_code) == (404, 403)
    assert ben.post(f"/deliveries/{delivery['id']}/retry").status_code == 403


def over(api: Api, path: str) -> dict[str, Any]:
    """The only delivery there, once it is over: nothing shall go on behind the back of other tests."""
    until = time.monotonic() + 30
    while True:
        delivery: dict[str, Any] = api.get(path).json()["items"][0]
        if delivery["ended_at"] is not None:
            return delivery
        assert time.monotonic() < until, delivery


def test_an_artifact_is_kept_and_given_back_as_a_file_that_no_browser_runs(ada: Api, ben: Api) -> None:
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Disposition": "x; filename*=UTF-8''%C3%96l.html"}
    made = ben.client.post("/api/v1/artifacts", content=HTML, headers=headers)

    told = made.json()
    content = ben.client.get(f"{made.headers['location']}/content")
    again = ben.client.get(f"{made.headers['location']}/content", headers={"If-None-Match": content.headers["etag"]})

    assert made.status_code == 201
    assert told["sha256"] == hashlib.sha256(HTML).hexdigest()
    assert (told["name"], told["media_type"], told["size"]) == ("Öl.html", "text/html", len(HTML))
    assert ben.client.get(made.headers["location"]).json() == told
    assert content.content == HTML
    assert content.headers["etag"] == f'"{told["sha256"]}"'
    assert content.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%96l.html"
    assert content.headers["x-content-type-options"] == "nosniff"
    assert content.headers["content-security-policy"] == "sandbox"
    assert (again.status_code, again.content) == (304, b"")
    assert ada.client.get(made.headers["location"]).status_code == 200


def test_an_artifact_of_another_does_not_exist_and_a_viewer_keeps_none(house: House, ada: Api, gus: Api) -> None:
    made = ada.client.post("/api/v1/artifacts", content=b"x", params={"name": "x.bin"})

    for api in (house.api("ben"), gus):
        assert api.client.get(made.headers["location"]).json()["code"] == "artifact_not_found"
        assert api.client.get(f"{made.headers['location']}/content").json()["code"] == "artifact_not_found"
    assert house.api("vera").client.post("/api/v1/artifacts", content=b"x").status_code == 403
    assert house.api(None).client.post("/api/v1/artifacts", content=b"x").status_code == 401
    assert (made.json()["name"], made.json()["media_type"]) == ("x.bin", "application/octet-stream")


def test_an_artifact_that_is_too_large_is_refused(ada: Api) -> None:
    refused = ada.client.post("/api/v1/artifacts", content=b"x" * 20_971_521)

    assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")
