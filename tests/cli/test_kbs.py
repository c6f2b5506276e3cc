"""Knowledge bases from the terminal, with a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.inside import carried_out
from tests.server.process import Api, ServerProcess, a_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("kbs")
    with a_server(folder / "conversations.db", "--token", "secret") as running:
        yield running


@pytest.fixture
def api(server: ServerProcess) -> Api:
    return server.api("secret")


def at(api: Api) -> list[str]:
    return ["--url", api.url, "--token", "secret"]


def test_files_become_a_base_that_a_session_sees(api: Api, tmp_path: Path) -> None:
    (tmp_path / "ferry.md").write_text("# Ferry\n\nThe ferry takes cars.\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("The harbour opens at six.", encoding="utf-8")
    session_id = api.post("/sessions").json()["id"]

    made = carried_out("kbs", "create", "Harbour", *at(api))
    base_id = made.stdout.strip()
    added = carried_out("kbs", "add", base_id, "ferry.md", "notes.txt", *at(api), cwd=tmp_path)
    listed = carried_out("kbs", "list", *at(api))
    mounted = carried_out("kbs", "mount", session_id, base_id, *at(api))

    assert (made.returncode, added.returncode, mounted.returncode) == (0, 0, 0), added.stderr
    assert added.stdout == "ferry.md: 1 unit, revision 1\nnotes.txt: 1 unit, revision 2\n"
    assert f"{base_id}  Harbour  (2 sources, 2 units, revision 2)\n" in listed.stdout
    assert mounted.stdout == f"{session_id} now sees {base_id} at revision 2.\n"
    assert api.get(f"/sessions/{session_id}").json()["mounts"][0]["id"] == base_id
    kinds = {source["name"]: source["kind"] for source in api.get(f"/kbs/{base_id}/sources").json()["items"]}
    assert kinds == {"ferry.md": "markdown", "notes.txt": "plain-text"}


def test_one_bad_file_does_not_keep_the_others_out(api: Api, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("The ferry takes cars.", encoding="utf-8")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty.txt").write_text("  \n", encoding="utf-8")
    base_id = carried_out("kbs", "create", "Harbour", *at(api)).stdout.strip()

    files = ["missing.txt", "binary.txt", "empty.txt", "good.txt"]
    added = carried_out("kbs", "add", base_id, *files, *at(api), cwd=tmp_path)

    assert added.returncode == 1
    assert added.stdout == "good.txt: 1 unit, revision 1\n"
    told = [line for line in added.stderr.splitlines() if line.startswith("turnkeeper: ")]
    assert [line.split(":")[1].strip() for line in told] == files[:3]


def test_a_file_that_begins_with_a_byte_order_mark_is_read_without_it(api: Api, tmp_path: Path) -> None:
    (tmp_path / "ferry.md").write_text("# Ferry\n\nThe ferry takes cars.\n", encoding="utf-8-sig")
    base_id = carried_out("kbs", "create", "Harbour", *at(api)).stdout.strip()

    carried_out("kbs", "add", base_id, "ferry.md", *at(api), cwd=tmp_path)

    (unit,) = api.get(f"/kbs/{base_id}/units").json()["items"]
    assert "\ufeff" not in str(unit)


def test_each_base_is_one_line_whatever_its_name(api: Api) -> None:
    base_id = api.post("/kbs", json={"name": "Har\nbour\r\u2028kb_fake"}).json()["id"]

    listed = carried_out("kbs", "list", *at(api))

    assert f"{base_id}  Har bour kb_fake  (0 sources, 0 units, revision 0)\n" in listed.stdout


def test_a_refusal_names_what_is_wrong(api: Api) -> None:
    made = carried_out("kbs", "create", "x" * 500, *at(api))

    assert made.returncode == 1
    assert "  /name: String should have at most 200 characters" in made.stderr


def test_a_base_that_is_not_there_is_told(api: Api, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("The ferry takes cars.", encoding="utf-8")

    added = carried_out("kbs", "add", "kb_never", "good.txt", *at(api), cwd=tmp_path)
    forked = carried_out("kbs", "create", "Copy", "--parent", "kb_never", *at(api))

    assert (added.returncode, forked.returncode) == (1, 1)
    assert "There is no knowledge base 'kb_never'." in added.stderr
    assert "There is no knowledge base 'kb_never'." in forked.stderr


def test_a_server_that_is_not_there_is_told() -> None:
    listed = carried_out("kbs", "list", "--url", "http://127.0.0.1:1")

    assert listed.returncode == 1
    assert "No server answers" in listed.stderr
