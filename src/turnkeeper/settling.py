"""Where each setting comes from: a flag, the environment, a file, or else its default.

A file is read only when it is named: whoever embeds turnkeeper is never surprised by one that lies around.
"""

import dataclasses
import difflib
import logging
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from turnkeeper.settings import Fault, Settings, SettingsInvalid

PREFIX = "TURNKEEPER_"
FILE_VARIABLE = f"{PREFIX}CONFIG"
FILE_NAME = "turnkeeper.toml"

# Variables of ours that are no settings: of the command line and of the tests.
OTHERS = {"agent", "bus_setup", "config", "demo", "session", "setup", "soak", "tenant", "url"}

FIELDS = {each.name: each for each in dataclasses.fields(Settings)}
SECRET = frozenset(name for name, each in FIELDS.items() if not each.repr)
"""Settings whose values are shown to nobody."""

BY_FLAG = "given"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Settings, and who said what: a variable, a file with its line, or `given`. What nobody said is the default."""

    settings: Settings
    sources: Mapping[str, str] = field(default_factory=dict)

    def shown(self, name: str) -> str:
        """The value as it may be shown. An address may hold a password; a file is only a name."""
        value = getattr(self.settings, name)
        is_file = name == "database" and "://" not in value
        return str(value) if name not in SECRET or value is None or is_file else "(secret)"


def settings_from(environment: Mapping[str, str], *, file: Path | None = None, **given: Any) -> Settings:
    """What was given, else `TURNKEEPER_*`, else the file, else the default. Raises SettingsInvalid."""
    return settle(environment, file=file, **given).settings


def settle(
    environment: Mapping[str, str],
    *,
    file: Path | None = None,
    otherwise: Mapping[str, Any] | None = None,
    **given: Any,
) -> Settled:
    """The same with the sources. `otherwise` takes the place of defaults. Raises SettingsInvalid with every fault."""
    values, sources, faults = dict(otherwise or {}), {}, []
    if unknown := sorted(given.keys() - FIELDS.keys()):
        raise ValueError(f"there is no setting {unknown[0]!r}{_did_you_mean(unknown[0])}")
    _warn_of_unknown(environment)
    if file is not None:
        for name, value, source, fault in _of_file(file):
            if fault is not None:
                faults.append(fault)
            else:
                values[name], sources[name] = value, source
    for name in FIELDS:
        variable = PREFIX + name.upper()
        if given.get(name) is not None and str(given[name]) != environment.get(variable):
            values[name], sources[name] = given[name], BY_FLAG
        elif variable in environment:
            try:
                values[name], sources[name] = _parsed(name, environment[variable]), variable
            except ValueError as error:
                faults.append(((name,), str(error)))
    return Settled(settings=_checked(values, sources, faults), sources=sources)


def file_for(environment: Mapping[str, str], folder: Path) -> Path | None:
    """The file that the environment names, else the one of the usual name in this folder, if there is one."""
    if named := environment.get(FILE_VARIABLE):
        return Path(named)
    usual = folder / FILE_NAME
    return usual if usual.is_file() else None


def _checked(values: Mapping[str, Any], sources: Mapping[str, str], faults: list[Fault]) -> Settings:
    try:
        settings = Settings(**values)
    except SettingsInvalid as invalid:
        for names, said in invalid.faults:
            places = [sources[name] for name in names if name in sources and sources[name] != BY_FLAG]
            faults.append((names, f"{said} ({', '.join(places)})" if places else said))
        raise SettingsInvalid(faults) from None
    if faults:
        raise SettingsInvalid(faults)
    return settings


def _of_file(file: Path) -> Iterator[tuple[str, Any, str, Fault | None]]:
    """Name, value and source of each setting in it, or what is wrong."""
    try:
        text = file.read_text(encoding="utf-8")
        said = tomllib.loads(text)
    except FileNotFoundError:
        yield "", None, "", ((), f"there is no file {file} with settings")
        return
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        yield "", None, "", ((), f"{file} cannot be read: {reason}")
        return
    except tomllib.TOMLDecodeError as error:
        yield "", None, "", ((), f"{file} is no TOML: {error}")
        return
    for name, value in said.items():
        source = f"{file}:{_line_of(name, text)}"
        fault = None
        if isinstance(value, dict):
            fault = f"{source}: settings stand at the top, without a section [{name}]"
        elif name not in FIELDS:
            fault = f"{source}: there is no setting {name!r}{_did_you_mean(name)}"
        else:
            try:
                value = _fitting(name, value)
            except ValueError as error:
                fault = f"{source}: {error}"
        yield name, value, source, None if fault is None else ((name,), fault)


def _fitting(name: str, value: Any) -> Any:
    """What stands in a file, as the setting wants it. What is a word here may be a truth or a number there."""
    wanted, default = FIELDS[name].type, FIELDS[name].default
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if wanted in (int, float):
        if type(value) is wanted:
            return value
        raise ValueError(f"{name} is a {'whole ' if wanted is int else ''}number, not {_told(name, value)}")
    if default in ("on", "off") and isinstance(value, bool):
        return "on" if value else "off"
    if name == "bus_port" and type(value) is int:
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"{name} is a text in quotes, not {_told(name, value)}")
    return value


def _told(name: str, value: Any) -> str:
    return "this" if name in SECRET else repr(value)


def _line_of(name: str, text: str) -> int:
    found = re.search(rf"^[ \t]*(?:\[[ \t]*)?[\"']?{re.escape(name)}[\"']?[ \t]*[=\].]", text, flags=re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _warn_of_unknown(environment: Mapping[str, str]) -> None:
    for variable in environment:
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name not in FIELDS.keys() | OTHERS:
            log.warning("%s is set, but there is no such setting%s", variable, _did_you_mean(name))


def _did_you_mean(name: str) -> str:
    close = difflib.get_close_matches(name, FIELDS, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _parsed(name: str, text: str) -> Any:
    wanted = FIELDS[name].type
    if wanted is not int and wanted is not float:
        return text
    try:
        return wanted(text)
    except ValueError:
        raise ValueError(f"{PREFIX}{name.upper()} is a number, not {text!r}") from None
