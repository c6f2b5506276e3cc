"""Layers, users, agents and models from the terminal, with a real server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.inside import carried_out
from tests.server.process import Api, a_server


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("scope")
    with a_server(folder / "conversations.db", "--token", "secret") as running:
        yield running.api("secret")


def at(api: Api) -> list[str]:
    return ["--url", api.url, "--token", "secret"]


def test_a_hierarchy_is_made_and_looked_at_in_the_terminal(api: Api, tmp_path: Path) -> None:
    (tmp_path / "terms.json").write_text(json.dumps({"policy": "regulated", "limits": {"max_steps": 9}}))
    (tmp_path / "deep.json").write_text(json.dumps({"chat_model": "deep-thought"}))
    (tmp_path / "agent.json").write_text(json.dumps({"model_profile": "deep"}))

    made = [
        carried_out("tenants", "create", "acme", "Acme", *at(api)),
        carried_out("users", "create", "ada", "owner", "--tenant", "acme", *at(api)),
        carried_out("projects", "create", "Harbour", "--id", "p1", "--terms", "terms.json", *at(api), cwd=tmp_path),
        carried_out("objectives", "create", "p1", "Find", "--id", "o1", *at(api)),
        carried_out("models", "put", "deep", "--file", "deep.json", *at(api), cwd=tmp_path),
        carried_out("agents", "put", "echo", "--file", "agent.json", *at(api), cwd=tmp_path),
    ]
    session = api.post("/sessions", {"project_id": "p1", "objective_id": "o1", "agent": "echo"}).json()["id"]
    shown = carried_out("scope", "show", session, *at(api))
    refused = carried_out("projects", "change", "p2", "--name", "x", *at(api))

    assert [each.returncode for each in made] == [0] * 6, [each.stderr for each in made]
    assert "acme  name Acme  status active  revision 1" in carried_out("tenants", "list", *at(api)).stdout
    assert "policy regulated (project)" in shown.stdout
    assert "model deep (agent)" in shown.stdout
    assert "limit max_steps 9 (project)" in shown.stdout
    assert "from objective o1 at revision 1" in shown.stdout
    assert refused.returncode == 1
    assert "There is no project 'p2' here." in refused.stderr
