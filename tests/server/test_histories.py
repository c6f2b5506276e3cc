"""Forks and the past of sessions over HTTP."""

from tests.server.conftest import House
from tests.server.process import Api


def a_talk(api: Api, *messages: str) -> str:
    session_id: str = api.post("/sessions", {"agent": "echo"}).json()["id"]
    for message in messages:
        api.post("/chat", {"message": message, "session_id": session_id})
    return session_id


def test_a_session_is_forked_at_a_turn_and_read_as_it_was(ben: Api) -> None:
    parent = a_talk(ben, "one", "two")

    made = ben.post(f"/sessions/{parent}/fork", {"at_turn": 1, "title": "Another way"})
    fork = made.json()
    ben.post("/chat", {"message": "other", "session_id": fork["id"]})

    assert made.status_code == 201
    assert made.headers["Location"] == f"/api/v1/sessions/{fork['id']}"
    assert (fork["fork_of"], fork["fork_turn"], fork["turns"], fork["title"]) == (parent, 1, 1, "Another way")
    said = [item["content"] for item in ben.get(f"/sessions/{fork['id']}/messages").json()["items"]]
    assert said[::2] == ["one", "other"]
    then = ben.get(f"/sessions/{parent}/turns/1").json()
    assert (then["messages"][0]["content"], then["turn"], then["epoch"]) == ("one", 1, 1)
    assert ben.get(f"/sessions/{parent}/turns/0").json()["messages"] == []


def test_the_same_request_forks_once(ben: Api) -> None:
    parent = a_talk(ben, "one")

    forks = [
        ben.client.post(f"/api/v1/sessions/{parent}/fork", json={}, headers={"Idempotency-Key": "fork-1"}).json()
        for _ in range(2)
    ]

    assert forks[0]["id"] == forks[1]["id"]


def test_what_is_not_there_and_what_is_not_ones_own_is_not_found(house: House, ben: Api, gus: Api) -> None:
    parent, cora = a_talk(ben, "one"), house.api("cora")

    refused = [
        ben.post(f"/sessions/{parent}/fork", {"at_turn": 2}),
        ben.get(f"/sessions/{parent}/turns/2"),
        cora.post(f"/sessions/{parent}/fork"),
        gus.get(f"/sessions/{parent}/turns/1"),
    ]

    assert [answer.status_code for answer in refused] == [404] * 4
    assert [answer.json()["code"] for answer in refused] == [
        "turn_not_found",
        "turn_not_found",
        "session_not_found",
        "session_not_found",
    ]


def test_the_messages_of_a_session_are_read_backwards(ben: Api) -> None:
    session_id = a_talk(ben, "one", "two")

    newest = ben.get(f"/sessions/{session_id}/messages?before=5&limit=3").json()
    older = ben.get(f"/sessions/{session_id}/messages?before={newest['next']}&limit=3").json()

    assert [each["seq"] for each in newest["items"]] == [2, 3, 4]
    assert [each["content"] for each in older["items"]] == ["one"]
    assert "next" not in older
