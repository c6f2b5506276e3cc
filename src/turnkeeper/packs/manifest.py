"""What `pack.yaml` says of a pack as a whole."""

import re
import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.model.pack import Classification
from turnkeeper.model.pack_config import PackConfig, config_keys, read_value
from turnkeeper.model.safety import SafetyMode
from turnkeeper.packs.faults import PackFaultCode, meant_instead, shown
from turnkeeper.packs.parts import MOST_NAME_CHARS, MOST_TEXT_CHARS, Part, given

CEILINGS = ("run_seconds", "model_calls", "tokens", "tool_calls", "cost_cents")
MOST_CEILING = 1_000_000_000
KEYS = (
    *("id", "version", "title", "description", "classification", "safety_mode", "ceilings", "prompts", "tools"),
    *("locales", "region", "timezone", "config"),
)

LOCALE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
LOCALE_REMEDY = "Write a language such as en, or a language and a country such as de-AT."
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]*")
NAME_REMEDY = "Write letters, digits and _ . : / - only, beginning with a letter or digit."

PACK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})", re.ASCII)
_PROMPT = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`facts` are fields of a Pack by name; `config_part` is None where no config is written."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    config: PackConfig = field(default_factory=PackConfig)
    config_part: Part | None = None
    locales: tuple[str, ...] = ("en",)
    prompt_files: frozenset[str] = frozenset()


def read_manifest(part: Part, prompt_files: Mapping[str, str]) -> Manifest:
    """`prompt_files` are the texts in the folder `prompts`."""
    fields = part.fields(KEYS, required={"id", "version"})
    prompts = _prompts(fields["prompts"], prompt_files) if "prompts" in fields else ({}, frozenset())
    config = _config(fields["config"]) if "config" in fields else PackConfig()
    facts = given({name: _READERS[name](fields[name]) for name in fields if name in _READERS})
    return Manifest(
        facts={**facts, "prompts": prompts[0], "config": config},
        config=config,
        config_part=fields.get("config"),
        locales=facts.get("locales") or ("en",),
        prompt_files=prompts[1],
    )


def _id(part: Part) -> str | None:
    return part.name(PACK_ID, "Write up to 128 letters, digits and _ . : -, beginning with a letter or digit.")


def _version(part: Part) -> str | None:
    remedy = 'Write three numbers without leading zeros, in quotes, such as "1.4.0"; nothing may follow them.'
    if isinstance(part.value, int | float) and not isinstance(part.value, bool):
        part.refuse(PackFaultCode.WRONG_TYPE, f"This is a number, and a version is none. {remedy}")
        return None
    return part.name(_VERSION, remedy)


def _ceilings(part: Part) -> Mapping[str, int]:
    fields = part.fields(CEILINGS)
    return given({name: each.whole(least=1, most=MOST_CEILING) for name, each in fields.items()})


def _prompts(part: Part, files: Mapping[str, str]) -> tuple[dict[str, str], frozenset[str]]:
    """The prompts by name, and which files they were taken from."""
    texts: dict[str, str] = {}
    used: set[str] = set()
    for name, each in part.members().items():
        if not _PROMPT.fullmatch(name):
            message = f"{shown(name)} does not fit. Write small letters, digits, _ and -, such as `system`."
            each.refuse(PackFaultCode.UNFIT_VALUE, message, at_key=True)
        elif isinstance(each.value, dict):
            path = _prompt_file(each, files)
            used.update({path} if path else ())
            texts.update({name: files[path]} if path else {})
        else:
            text = each.text()
            texts.update({name: text} if text else {})
    return texts, frozenset(used)


def _prompt_file(part: Part, files: Mapping[str, str]) -> str | None:
    named = part.fields(("file",), required={"file"}).get("file")
    path = named.text(most=MOST_NAME_CHARS) if named else None
    if named is None or path is None:
        return None
    if path not in files:
        message = f"There is no file {shown(path)}. {meant_instead(path, files)} Prompts stand in prompts/."
        named.refuse(PackFaultCode.MISSING_FILE, message)
        return None
    if len(files[path]) > MOST_TEXT_CHARS:
        message = f"A prompt has at most {MOST_TEXT_CHARS:,} characters. Make {path} shorter."
        named.refuse(PackFaultCode.TOO_LONG, message)
    return path


def _region(part: Part) -> str | None:
    from phonenumbers import SUPPORTED_REGIONS

    code = part.text(most=MOST_NAME_CHARS)
    if code is None or code in SUPPORTED_REGIONS:
        return code
    remedy = "Write the two capitals of a country, such as GB or DE."
    part.refuse(PackFaultCode.UNFIT_VALUE, f"There is no region {shown(code)}. {remedy}")
    return None


def _timezone(part: Part) -> str | None:
    name = part.text(most=MOST_NAME_CHARS)
    if name is None or name == "UTC" or _is_timezone(name):
        return name
    near = meant_instead(name, zoneinfo.available_timezones())
    remedy = near if near.startswith("Did") else "Write one such as Europe/Berlin, or UTC."
    part.refuse(PackFaultCode.UNFIT_VALUE, f"There is no timezone {shown(name)}. {remedy}")
    return None


def _is_timezone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _config(part: Part) -> PackConfig:
    values: dict[str, Any] = {}
    for key, each in part.fields(config_keys()).items():
        try:
            read_value(key, each.value)
        except ValueError as error:
            each.refuse(PackFaultCode.UNFIT_CONFIG, f"This cannot be set: {error}. Correct it, or leave it out.")
        else:
            values[key] = each.value
    return PackConfig().with_values(values)


_READERS: Mapping[str, Callable[[Part], Any]] = {
    "id": _id,
    "version": _version,
    "title": lambda part: part.text(most=MOST_NAME_CHARS),
    "description": lambda part: part.text(),
    "classification": lambda part: part.one_of(Classification),
    "safety_mode": lambda part: part.one_of(SafetyMode),
    "ceilings": _ceilings,
    "tools": lambda part: part.names(NAME, NAME_REMEDY),
    "locales": lambda part: part.names(LOCALE, LOCALE_REMEDY),
    "region": _region,
    "timezone": _timezone,
}
