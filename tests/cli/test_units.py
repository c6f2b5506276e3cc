"""Checking and formatting the text of units from the terminal."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.terminal import COMMAND, ROOT, turnkeeper
from tests.unit.test_text_form import COMPARING, FROM_THE_PAGE
from turnkeeper.knowledge.text_form.read import parse_units
from turnkeeper.knowledge.text_form.write import serialize

FORMATTED = serialize(parse_units(FROM_THE_PAGE))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "context.units"
    path.write_text(FROM_THE_PAGE, encoding="utf-8")
    return path


def test_the_units_of_a_file_are_counted(file: Path) -> None:
    checked = turnkeeper("units", "check", str(file))

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, f"{file}: 1 unit.\n", "")


def test_each_fault_of_a_file_is_told_with_its_place(file: Path) -> None:
    file.write_text(FROM_THE_PAGE.replace("Constraint", "Rule").replace("[verify]", "[cook]"), encoding="utf-8")

    checked = turnkeeper("units", "check", str(file))

    first, second = checked.stdout.splitlines()
    assert checked.returncode == 1
    assert first.startswith(f"{file}:4:18: INVALID_ROLE_VALUE 'Rule' is none of: Comparison, ")
    assert second.startswith(f"{file}:7:26: INVALID_ACT_VALUE 'cook' is none of: compare, ")


def test_standard_input_can_be_checked_and_formatted() -> None:
    checked = turnkeeper("units", "check", "-", said=FROM_THE_PAGE)
    formatted = turnkeeper("units", "format", "-", said=FROM_THE_PAGE)

    assert (checked.returncode, checked.stdout) == (0, "standard input: 1 unit.\n")
    assert (formatted.returncode, formatted.stdout) == (0, FORMATTED)


def test_a_context_with_intents_is_refused_until_it_is_called_mixed(file: Path) -> None:
    file.write_text(FROM_THE_PAGE + COMPARING, encoding="utf-8")

    as_context = turnkeeper("units", "check", str(file))
    as_mixed = turnkeeper("units", "check", str(file), "--kind", "mixed")

    assert as_context.returncode == 1
    assert ":9:5: COMMAND_NOT_ALLOWED intent has no place in a context document." in as_context.stdout
    assert (as_mixed.returncode, as_mixed.stdout) == (0, f"{file}: 1 unit and 13 other objects.\n")


def test_formatting_prints_and_leaves_the_file_alone(file: Path) -> None:
    formatted = turnkeeper("units", "format", str(file))

    assert (formatted.returncode, formatted.stdout) == (0, FORMATTED)
    assert file.read_text(encoding="utf-8") == FROM_THE_PAGE


def test_formatting_puts_a_file_into_its_form_once(file: Path) -> None:
    file.chmod(0o640)

    first = turnkeeper("units", "format", str(file), "--write")
    second = turnkeeper("units", "format", str(file), "--write")

    assert (first.returncode, first.stdout) == (0, f"{file}: formatted.\n")
    assert (second.returncode, second.stdout) == (0, f"{file}: has this form already.\n")
    assert file.read_text(encoding="utf-8") == FORMATTED
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(file.parent) == [file.name]


def test_formatting_writes_through_a_link(file: Path) -> None:
    link = file.with_name("link")
    link.symlink_to(file)

    turnkeeper("units", "format", str(link), "--write")

    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == FORMATTED


def test_a_file_with_faults_is_not_formatted(file: Path) -> None:
    faulty = FROM_THE_PAGE.replace("topic", "topics")
    file.write_text(faulty, encoding="utf-8")

    for flags in ([], ["--write"]):
        refused = turnkeeper("units", "format", str(file), *flags)

        assert (refused.returncode, refused.stdout) == (1, "")
        assert f"{file}:5:13: UNKNOWN_FIELD" in refused.stderr
    assert file.read_text(encoding="utf-8") == faulty


def test_letters_and_line_ends_stay_as_they_are(file: Path) -> None:
    file.write_bytes(("\ufeff" + FROM_THE_PAGE.replace("CPU only", "日本\u2028🍵 \x85")).replace("\n", "\r\n").encode())

    formatted = subprocess.run(
        [*COMMAND, "units", "format", str(file)],
        cwd=ROOT,
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=60,
    )

    assert formatted.returncode == 0
    assert formatted.stdout.decode() == FORMATTED.replace("CPU only", "日本\u2028🍵 \x85")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "There is no file"),
        (b"\x89PNG\r\n\x1a\n\xff", "is not text in UTF-8; byte 1 is the first that is not."),
        (b"@k1 ku \xc3", "is not text in UTF-8; byte 8"),
        (b" " * 10_000_001, "is larger than 10,000,000 bytes. Cut it into several files."),
    ],
    ids=["missing", "binary", "broken", "large"],
)
@pytest.mark.parametrize("command", [["check"], ["format"], ["format", "--write"]], ids=" ".join)
def test_a_file_that_is_no_text_is_said_in_one_line(
    file: Path, command: list[str], content: bytes | None, told: str
) -> None:
    file.unlink()
    if content is not None:
        file.write_bytes(content)

    refused = turnkeeper("units", *command, str(file))

    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("turnkeeper: ")
    assert refused.stderr.count("\n") == 1
    assert told in refused.stderr


def test_who_reads_only_the_beginning_is_told_no_error(file: Path) -> None:
    file.write_text(FROM_THE_PAGE + f'@k9 set $k1 textBody "{"a" * 1_000_000}"\n', encoding="utf-8")
    process = subprocess.Popen(
        [*COMMAND, "units", "format", str(file)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None

    process.stdout.read(10)
    process.stdout.close()
    _, complained = process.communicate(timeout=60)

    assert (process.returncode, complained) == (0, b"")


def test_a_folder_is_no_file_of_units(tmp_path: Path) -> None:
    refused = turnkeeper("units", "check", str(tmp_path))

    assert (refused.returncode, refused.stderr) == (2, f"turnkeeper: {tmp_path} cannot be read: Is a directory.\n")


def test_standard_input_is_not_written_to() -> None:
    refused = turnkeeper("units", "format", "-", "--write", said=FROM_THE_PAGE)

    assert refused.returncode == 2
    assert "Name a file" in refused.stderr


def test_what_stands_in_a_file_cannot_steer_the_terminal(file: Path) -> None:
    file.write_text("@k1 \x1b\x07\n@k2 parent $\x1b\x07 $\x9b2J\n", encoding="utf-8")

    checked = turnkeeper("units", "check", str(file))

    assert checked.returncode == 1
    assert set(checked.stdout).isdisjoint("\x1b\x07\x9b")
