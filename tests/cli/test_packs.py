"""Packs from the terminal: on files without a server, and on a real one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archives import archive_of
from tests.cli.inside import carried_out
from tests.server.process import Api, ServerProcess, a_server
from turnkeeper.packs.demos import demo_packs


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("packs")
    with a_server(folder / "conversations.db", "--token", "secret") as running:
        yield running


@pytest.fixture
def api(server: ServerProcess) -> Api:
    return server.api("secret")


def at(api: Api) -> list[str]:
    return ["--url", api.url, "--token", "secret"]


def test_a_new_pack_is_written_and_has_no_faults(tmp_path: Path) -> None:
    begun = carried_out("packs", "init", "mine", cwd=tmp_path)
    checked = carried_out("packs", "check", "mine", cwd=tmp_path)

    assert (begun.returncode, checked.returncode) == (0, 0), begun.stderr
    assert begun.stdout == "mine: 5 files. Check it with: turnkeeper packs check mine\n"
    assert checked.stdout == "mine@0.1.0: no faults.\n"


def test_a_new_pack_may_begin_as_a_demo_in_a_folder_of_its_own(tmp_path: Path) -> None:
    begun = carried_out("packs", "init", "desk", "--demo", "help-desk", "--into", "some/where", cwd=tmp_path)
    checked = carried_out("packs", "check", "some/where", cwd=tmp_path)

    assert begun.returncode == 0, begun.stderr
    assert checked.stdout == "desk@1.0.0: no faults.\n"
    assert (tmp_path / "some/where/knowledge/returns.md").is_file()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")

    begun = carried_out("packs", "init", "mine", cwd=tmp_path)

    assert begun.returncode == 2
    assert "nothing is overwritten" in begun.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("arguments", [["-x-"], ["a b"], ["mine", "--demo", "nope"]])
def test_an_unfit_id_or_demo_writes_nothing(arguments: list[str], tmp_path: Path) -> None:
    begun = carried_out("packs", "init", *arguments, cwd=tmp_path)

    assert begun.returncode == 2
    assert begun.stderr.startswith("turnkeeper: ")
    assert list(tmp_path.iterdir()) == []


def test_every_fault_is_a_line_that_an_editor_can_jump_to(tmp_path: Path) -> None:
    carried_out("packs", "init", "mine", cwd=tmp_path)
    replace(tmp_path / "mine/pack.yaml", "timezone: UTC", "timezone: Mars")
    replace(tmp_path / "mine/intents/greet.yaml", "name: Say hello", "nmae: Say hello")

    checked = carried_out("packs", "check", "mine", cwd=tmp_path)

    assert checked.returncode == 1
    lines = checked.stdout.splitlines()
    assert lines[0].startswith("mine/intents/greet.yaml:3:1: There is no key 'nmae' here. Did you mean 'name'?")
    assert lines[1].startswith("mine/pack.yaml:10:11: There is no timezone 'Mars'.")
    assert lines[2] == "mine: 2 faults."


def test_warnings_leave_the_exit_code_at_zero(tmp_path: Path) -> None:
    carried_out("packs", "init", "mine", cwd=tmp_path)
    (tmp_path / "mine/intents/bye.yaml").write_text("code: BYE\n")

    checked = carried_out("packs", "check", "mine", cwd=tmp_path)

    assert checked.returncode == 0
    assert "mine/intents/bye.yaml:1:1: warning: Nothing leads to BYE." in checked.stdout
    assert checked.stdout.endswith("mine@0.1.0: 1 warning.\n")


def test_a_program_is_told_in_json(tmp_path: Path) -> None:
    (tmp_path / "pack.zip").write_bytes(archive_of({"pack.yaml": 'id: x\nversion: "1"\n'}))

    checked = carried_out("packs", "check", "pack.zip", "--json", cwd=tmp_path)

    told = json.loads(checked.stdout)
    assert checked.returncode == 1
    assert told["ref"] is None
    assert [(fault["file"], fault["line"], fault["code"]) for fault in told["faults"]] == [
        ("pack.yaml", 2, "unfit_value")
    ]


def test_what_is_no_pack_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")

    checked = [carried_out("packs", "check", name, cwd=tmp_path) for name in ("nothing", "notes.txt")]

    assert [each.returncode for each in checked] == [1, 1]
    assert "No such file" in checked[0].stdout
    assert "neither a folder nor a .zip" in checked[1].stdout


def test_two_folders_are_compared_in_words_and_lines(tmp_path: Path) -> None:
    carried_out("packs", "init", "mine", "--into", "old", cwd=tmp_path)
    carried_out("packs", "init", "mine", "--into", "new", cwd=tmp_path)
    replace(tmp_path / "new/schemas/LEAVE_MESSAGE.json", '"required": ["message", "email"]', '"required": ["message"]')

    same = carried_out("packs", "diff", "old", "old", cwd=tmp_path)
    compared = carried_out("packs", "diff", "old", "new", cwd=tmp_path)
    as_json = carried_out("packs", "diff", "old", "new", "--json", cwd=tmp_path)

    assert same.stdout == "Nothing is different.\n"
    assert compared.stdout.startswith(
        "minor: field LEAVE_MESSAGE.email is no longer required\n"
        "All in all a minor change: the next version is 0.2.0.\n\n--- old/schemas/LEAVE_MESSAGE.json\n"
    )
    assert json.loads(as_json.stdout)["level"] == "minor"


def test_where_no_pack_was_pushed_it_is_said_how_to_push_one(tmp_path: Path) -> None:
    with a_server(tmp_path / "conversations.db", "--token", "secret") as empty:
        listed = carried_out("packs", "list", *at(empty.api("secret")))

    assert (listed.returncode, listed.stdout) == (
        0,
        "There are no packs yet. Push one with: turnkeeper packs push FOLDER\n",
    )


def test_a_pack_is_pushed_listed_shown_and_compared(api: Api, tmp_path: Path) -> None:
    carried_out("packs", "init", "desk", "--demo", "help-desk", cwd=tmp_path)

    pushed = carried_out("packs", "push", "desk", *at(api), cwd=tmp_path)
    again = carried_out("packs", "push", "desk", *at(api), cwd=tmp_path)
    listed = carried_out("packs", "list", *at(api))
    shown = carried_out("packs", "show", "desk", *at(api))
    file = carried_out("packs", "show", "desk@1.0.0", "--file", "knowledge/returns.md", *at(api))
    compared = carried_out("packs", "diff", "desk@1.0.0", "desk", *at(api), cwd=tmp_path)

    assert pushed.returncode == 0, pushed.stderr
    assert pushed.stdout.startswith("desk@1.0.0  ")
    assert again.stdout == pushed.stdout
    assert f"desk@1.0.0  {pushed.stdout.split()[1][:12]}  pushed " in listed.stdout
    words = " ".join(shown.stdout.split())
    assert "REPORT_OUTAGE Report an outage (DETAILS > CONFIRM > REPORTED, with a form)" in words
    assert file.stdout == demo_packs()["help-desk"]["knowledge/returns.md"]
    assert compared.stdout == "Nothing is different.\n"


def test_a_pushed_version_never_changes(api: Api, tmp_path: Path) -> None:
    carried_out("packs", "init", "fixed", cwd=tmp_path)
    carried_out("packs", "push", "fixed", *at(api), cwd=tmp_path)
    replace(tmp_path / "fixed/intents/greet.yaml", "hi there", "hey there")

    refused = carried_out("packs", "push", "fixed", *at(api), cwd=tmp_path)
    compared = carried_out("packs", "diff", "fixed@0.1.0", "./fixed", *at(api), cwd=tmp_path)

    assert refused.returncode == 1
    assert "a pushed pack never changes" in refused.stderr
    assert "All in all a patch change: the next version is 0.1.1." in compared.stdout


def test_a_pack_with_faults_is_not_pushed(api: Api, tmp_path: Path) -> None:
    carried_out("packs", "init", "faulty", cwd=tmp_path)
    replace(tmp_path / "faulty/pack.yaml", "timezone: UTC", "timezone: Mars")

    refused = carried_out("packs", "push", "faulty", *at(api), cwd=tmp_path)

    assert refused.returncode == 1
    assert "faulty/pack.yaml:10:11: There is no timezone 'Mars'." in refused.stdout
    assert "Nothing was pushed" in refused.stderr
    assert api.get("/packs/faulty").status_code == 404


def test_the_config_of_a_pack_is_wanted_otherwise_and_as_it_was(api: Api, tmp_path: Path) -> None:
    carried_out("packs", "init", "tuned", cwd=tmp_path)
    carried_out("packs", "push", "tuned", *at(api), cwd=tmp_path)

    wanted = carried_out("packs", "set", "tuned", "STICKY_INTENT", "false", *at(api))
    held = sticky(api)
    shown = carried_out("packs", "show", "tuned@0.1.0", *at(api))
    off = carried_out("packs", "set", "tuned", "STICKY_INTENT", "false", "--off", *at(api))
    switched_off = sticky(api)
    shown_off = carried_out("packs", "show", "tuned", *at(api))
    unset = carried_out("packs", "unset", "tuned", "STICKY_INTENT", *at(api))

    assert wanted.stdout == "tuned: STICKY_INTENT set to false\n", wanted.stderr
    assert off.stdout == "tuned: STICKY_INTENT kept, but switched off, as false\n"
    assert "\noverride        STICKY_INTENT false\n" in shown.stdout
    assert "\noverride        STICKY_INTENT false (switched off)\n" in shown_off.stdout
    assert unset.stdout == "tuned: STICKY_INTENT is as the pack says\n"
    assert (held, switched_off, sticky(api)) == (False, True, True)
    assert api.get("/packs/tuned/config").json()["overrides"] == []


def test_an_unknown_key_pack_or_file_is_told(api: Api, tmp_path: Path) -> None:
    carried_out("packs", "init", "known", cwd=tmp_path)
    carried_out("packs", "push", "known", *at(api), cwd=tmp_path)

    told = [
        carried_out("packs", *arguments, *at(api), cwd=tmp_path)
        for arguments in (
            ["set", "known", "STICKY", "false"],
            ["set", "unknown", "STICKY_INTENT", "false"],
            ["show", "unknown"],
            ["show", "known", "--file", "nothing.md"],
            ["diff", "unknown", "known"],
            ["unset", "known", "STICKY"],
            ["unset", "unknown", "STICKY_INTENT"],
        )
    ]

    assert [each.returncode for each in told] == [1] * 7
    assert "STICKY is no key of a pack's config" in told[0].stderr
    assert "There is no pack 'unknown'" in told[1].stderr
    assert "There is no pack 'unknown'" in told[2].stderr
    assert "known@0.1.0 has no file 'nothing.md'. It has intents/greet.yaml," in told[3].stderr
    assert "There is no pack 'unknown'" in told[4].stderr
    assert "There is no key 'STICKY' in the config of a pack. Did you mean 'STICKY_INTENT'?" in told[5].stderr
    assert "There is no pack 'unknown'" in told[6].stderr


def sticky(api: Api) -> object:
    return api.get("/packs/tuned/config").json()["config"]["STICKY_INTENT"]


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
