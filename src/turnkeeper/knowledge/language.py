"""The rules of a language, kept as data: another language is another file."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    code: str
    stop_words: frozenset[str]


@cache
def language(code: str) -> Language:
    """Raises FileNotFoundError for a language that has no file."""
    text = resources.files("turnkeeper.knowledge").joinpath("languages", f"{code}.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    return Language(code=code, stop_words=frozenset(data["stop_words"]["words"]))
