"""One settings object from flags, the environment, a file and defaults, in this order."""

from pathlib import Path

import pytest

from turnkeeper import Settings, Turnkeeper
from turnkeeper.settings import SettingsInvalid
from turnkeeper.settling import SECRET, file_for, settings_from, settle

MARKER = "quetzalcoatl"


def a_file(folder: Path, text: str) -> Path:
    path = folder / "turnkeeper.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_flag_wins_over_the_environment_which_wins_over_the_file_which_wins_over_the_default(tmp_path: Path) -> None:
    file = a_file(tmp_path, 'port = 1\nhost = "0.0.0.0"\n\nrun_seconds = 3\n')

    settled = settle({"TURNKEEPER_PORT": "2", "TURNKEEPER_HOST": "::1"}, file=file, otherwise={"resumes": 7}, port=3)

    chosen = settled.settings
    assert (chosen.port, chosen.host, chosen.run_seconds, chosen.resumes) == (3, "::1", 3.0, 7)
    assert chosen.lease_seconds == Settings().lease_seconds
    assert settled.sources == {"port": "given", "host": "TURNKEEPER_HOST", "run_seconds": f"{file}:4"}


def test_what_a_flag_repeats_from_the_environment_is_said_to_come_from_there() -> None:
    assert settle({"TURNKEEPER_PORT": "2"}, port=2).sources == {"port": "TURNKEEPER_PORT"}


def test_a_file_may_say_truths_and_numbers_where_they_are_meant(tmp_path: Path) -> None:
    file = a_file(tmp_path, "debug = true\nbus_guard = false\nbus_port = 9181\nidle_seconds = 60\n")

    read = settings_from({}, file=file)

    assert (read.debug, read.bus_guard, read.bus_port, read.idle_seconds) == ("on", "off", "9181", 60)


def test_every_fault_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    file = a_file(
        tmp_path,
        'prot = 8765\nport = "8765"\nresumes = 1.5\nidle_seconds = true\ntitle = 1\nhost = 1\ndebug = 1\n'
        'synchronous = "never"\n[server]\nport = 1\n',
    )

    with pytest.raises(SettingsInvalid) as invalid:
        settle({"TURNKEEPER_STREAMS": "many", "TURNKEEPER_PORT": "99999"}, file=file)

    assert str(invalid.value).splitlines() == [
        f"{file}:1: there is no setting 'prot'; did you mean 'port'?",
        f"{file}:2: port is a whole number, not '8765'",
        f"{file}:3: resumes is a whole number, not 1.5",
        f"{file}:4: idle_seconds is a whole number, not True",
        f"{file}:5: there is no setting 'title'",
        f"{file}:6: host is a text in quotes, not 1",
        f"{file}:7: debug is a text in quotes, not 1",
        f"{file}:9: settings stand at the top, without a section [server]",
        "TURNKEEPER_STREAMS is a number, not 'many'",
        f"synchronous is FULL, NORMAL or EXTRA, not 'never' ({file}:8)",
        "port is a number from 0 to 65535, not 99999 (TURNKEEPER_PORT)",
    ]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e300"])
def test_a_span_is_a_number_that_a_clock_can_count(tmp_path: Path, value: str) -> None:
    file = a_file(tmp_path, f"run_seconds = {value}\n")

    with pytest.raises(SettingsInvalid, match="run_seconds is "):
        settings_from({}, file=file)
    with pytest.raises(SettingsInvalid, match=r"login_seconds is .*TURNKEEPER_LOGIN_SECONDS"):
        settings_from({"TURNKEEPER_LOGIN_SECONDS": value})


@pytest.mark.parametrize(
    ("text", "said"),
    [("port 8765", "is no TOML"), ("port = 1\nport = 2", "is no TOML"), (None, "there is no file")],
    ids=["no TOML", "twice", "no file"],
)
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "turnkeeper.toml" if text is None else a_file(tmp_path, text)

    with pytest.raises(ValueError, match=said):
        settings_from({}, file=file)


def test_no_secret_is_shown(tmp_path: Path) -> None:
    wrong = a_file(tmp_path, "".join(f'{name} = ["{MARKER}"]\n' for name in sorted(SECRET)))

    with pytest.raises(SettingsInvalid) as invalid:
        settings_from({}, file=wrong)
    environment = {f"TURNKEEPER_{name.upper()}": f"scheme://{MARKER}" for name in SECRET} | {
        "TURNKEEPER_JWT_SECRET": f"scheme://{MARKER} and so long that nobody guesses it",
        "TURNKEEPER_JWT_AUDIENCE": "turnkeeper",
        "TURNKEEPER_MODEL_NAME": "m",
        "TURNKEEPER_MAIL_FROM": "a@example.org",
    }
    settled = settle(environment)

    assert {"token", "database", "model_key", "bus_token", "smtp_url"} <= SECRET
    assert len(invalid.value.faults) == len(SECRET)
    assert MARKER not in str(invalid.value)
    assert {settled.shown(name) for name in SECRET} == {"(secret)"}
    assert settle({"TURNKEEPER_DATABASE": "x.db"}).shown("database") == "x.db"


def test_the_file_is_the_one_that_is_named_or_the_usual_one_of_the_folder(tmp_path: Path) -> None:
    assert file_for({}, tmp_path) is None
    assert file_for({"TURNKEEPER_CONFIG": "other.toml"}, tmp_path) == Path("other.toml")
    assert file_for({}, a_file(tmp_path, "").parent) == tmp_path / "turnkeeper.toml"


def test_who_embeds_turnkeeper_reads_no_file_but_the_one_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = a_file(tmp_path, "run_seconds = 7\n")
    monkeypatch.chdir(tmp_path)

    assert Turnkeeper.open("x.db").settings.run_seconds == Settings().run_seconds
    assert Turnkeeper.open("x.db", config=file).settings.run_seconds == 7.0
    assert Turnkeeper.open("x.db", config=file, run_seconds=9.0).settings.run_seconds == 9.0
