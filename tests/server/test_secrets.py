"""Secrets and the words of users stay where they belong: a mark in each of them is looked for everywhere else."""

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

from tests.server.process import a_server

numbers = count(1)


class Marks:
    """Words that appear nowhere by chance, each with where it was put."""

    def __init__(self) -> None:
        self.put: dict[str, str] = {}

    def __call__(self, where: str) -> str:
        mark = f"zq{next(numbers):03d}xk{len(self.put):03d}hush"
        self.put[mark] = where
        return mark

    def found_in(self, text: str) -> list[str]:
        return sorted({self.put[mark] for mark in re.findall(r"zq\d{3}xk\d{3}hush", text)})


def odd_requests(marks: Marks) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Everything that goes wrong in some way, with a mark wherever something can stand."""
    mark = marks
    yield "GET", "/me", {"headers": {"Authorization": f"Bearer {mark('an unknown token')}"}}
    yield "GET", "/me", {"headers": {"Authorization": f"Bearer tk_{mark('an unknown key')}_0_acme"}}
    yield "GET", "/me", {"headers": {"Authorization": f"Bearer e30.{mark('an unknown jwt')}.e30"}}
    yield "GET", "/me", {"headers": {"Authorization": f"Basic {mark('a password')}"}}
    yield "POST", "/login", {"json": {"token": mark("the token of a login")}}
    yield "POST", "/chat", {"json": {"message": mark("a message to an agent that fails"), "agent": "failing"}}
    yield "POST", "/chat", {"json": {"message": mark("a message to nobody"), "agent": "nobody"}}
    yield "POST", "/chat", {"json": {"message": mark("a message with params"), "params": {"x": mark("a param")}}}
    yield "POST", "/chat", {"json": {"message": 7, "metadata": {"x": mark("metadata of a faulty body")}}}
    yield "POST", "/chat", {"content": b'{"message": "' + mark("a body that breaks off").encode()}
    yield "POST", "/chat", {"content": mark("a body of another type"), "headers": {"Content-Type": "text/plain"}}
    yield "POST", "/invoke", {"json": {"input": mark("a faulty envelope")}}
    yield "POST", "/channels/webhook/bind_nobody", {"content": mark("a message through no door")}
    yield "POST", "/keys", {"json": {"name": "x", "role": mark("a role that there is not")}}
    yield "GET", "/sessions", {"params": {"cursor": mark("a cursor")[:3] + " " + mark("a faulty cursor")}}
    yield "GET", "/audit", {"params": {"token": mark("a token in an address")}}


def test_no_secret_and_no_word_of_a_user_gets_into_logs_audit_errors_or_metrics(tmp_path: Path) -> None:
    marks = Marks()
    token = marks("the token of the operator")
    settings = {
        "TURNKEEPER_TOKEN": token,
        "TURNKEEPER_JWT_SECRET": marks("the secret of the issuer") * 3,
        "TURNKEEPER_JWT_AUDIENCE": "turnkeeper",
        "TURNKEEPER_SMTP_URL": f"smtp://mailer:{marks('the password of the mail server')}@127.0.0.1:1",
        "TURNKEEPER_MAIL_FROM": "desk@example.org",
        "TURNKEEPER_MODEL_URL": f"http://user:{marks('the password of the model')}@127.0.0.1:1/v1",
        "TURNKEEPER_MODEL_NAME": "small",
        "TURNKEEPER_MODEL_KEY": marks("the key of the model"),
        "TURNKEEPER_BUS_TOKEN": marks("the token of the bus"),
    }
    told = []
    with a_server(tmp_path / "conversations.db", **settings) as server:
        own = httpx2.Client(base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {token}"})
        key = own.post("/keys", json={"name": "robot"}).json()
        marks.put[key["token"]] = "the token of a key"
        secret = "whsec_" + (marks("the secret of a binding") + "ab") * 2
        made = own.post(
            "/bindings", json={"name": "door", "channel": "webhook", "auth": "signature", "secrets": [secret]}
        )
        assert made.status_code == 201, made.text
        own.post(f"/channels/webhook/{made.json().get('id')}", content=marks("an unsigned message"))
        own.post("/chat", json={"message": marks("a message that is answered")})
        own.get("/me", headers={"Authorization": f"Bearer {key['token']}"})
        for method, path, how in odd_requests(marks):
            answer = own.request(method, path, **how)
            told.append(f"{method} {path} {dict(answer.headers)} {answer.text if answer.is_error else ''}")
        audit = own.get("/audit/export").text
        metrics = httpx2.get(f"{server.url}/metrics").text
        own.close()
        server.stop()

    assert len(audit.splitlines()) > 10
    for name, text in {"errors": "\n".join(told), "audit": audit, "metrics": metrics}.items():
        assert marks.found_in(text) == [], name
        assert key["token"] not in text
    assert marks.found_in(server.said + server.complained) == []
    assert key["token"] not in server.said + server.complained


def test_what_is_looked_for_would_be_found() -> None:
    marks = Marks()
    mark = marks("a secret")

    assert marks.found_in(json.dumps({"detail": f"no {mark} here"})) == ["a secret"]
