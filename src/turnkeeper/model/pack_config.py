"""What a pack says about the holding of intents, and what a tenant may want otherwise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from turnkeeper.model.control import truth_of
from turnkeeper.model.plain_text import is_plain_text

MOST_CHARS = 2_000


class ResolverChoice(StrEnum):
    """Who finds out what a user wants: rules first and a model where they find nothing, or only one of the two."""

    AUTO = "auto"
    RULES = "rules"
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackConfig:
    """Each field is a key of the same name in capitals: `sticky_intent` is `STICKY_INTENT`."""

    sticky_intent: bool = True
    reset_intent_codes: tuple[str, ...] = ("RESET_SESSION",)
    reset_reply: str | None = None
    resolver: ResolverChoice = ResolverChoice.AUTO
    min_confidence: float = 0.55
    collision_gap_threshold: float = 0.1
    collision_floor: float = 0.35
    clarification_attempts: int = 2
    clarification_turns: int = 3

    def with_values(self, values: Mapping[str, Any]) -> "PackConfig":
        """Raises ValueError, in words for the one who wrote the value, for the first key or value that is wrong."""
        return replace(self, **{name_of(key): read_value(key, value) for key, value in values.items()})


def config_keys() -> tuple[str, ...]:
    return tuple(each.name.upper() for each in fields(PackConfig))


def name_of(key: str) -> str:
    if key not in config_keys():
        raise ValueError(f"{key} is no key of a pack's config; there are {', '.join(config_keys())}")
    return key.lower()


def read_value(key: str, value: Any) -> Any:
    """The value as the config holds it. Raises ValueError when it cannot be one."""
    return _READERS[name_of(key)](key, value)


def _truth(key: str, value: Any) -> bool:
    read = None if value is None else truth_of(value)
    if read is None:
        raise ValueError(f"{key} is true or false, not {value!r}")
    return read


def _codes(key: str, value: Any) -> tuple[str, ...]:
    """A list, or codes with commas between them; the empty list stands for the default."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(code, str) for code in listed):
        raise ValueError(f"{key} is a list of intent codes, not {value!r}")
    codes = tuple(dict.fromkeys(code.strip().upper() for code in listed if code.strip()))
    return codes or PackConfig().reset_intent_codes


def _share(key: str, value: Any) -> float:
    number = _number(key, value, float)
    if not 0 <= number <= 1:
        raise ValueError(f"{key} lies between 0 and 1, not at {value!r}")
    return float(number)


def _count(key: str, value: Any) -> int:
    number = _number(key, value, int)
    if not 1 <= number <= 100 or number != int(number):
        raise ValueError(f"{key} is a whole number from 1 to 100, not {value!r}")
    return int(number)


def _number(key: str, value: Any, kind: type[int] | type[float]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{key} is a number, not {value!r}")
    try:
        number = kind(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(f"{key} is a number, not {value!r}") from None
    if number != number:
        raise ValueError(f"{key} is a number, not {value!r}")
    return number


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MOST_CHARS or not is_plain_text(value):
        raise ValueError(f"{key} is a text of at most {MOST_CHARS} characters, without NUL")
    return value


def _resolver(key: str, value: Any) -> ResolverChoice:
    if not isinstance(value, str) or value not in set(ResolverChoice):
        raise ValueError(f"{key} is one of {', '.join(ResolverChoice)}, not {value!r}")
    return ResolverChoice(value)


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "sticky_intent": _truth,
    "reset_intent_codes": _codes,
    "reset_reply": _text,
    "resolver": _resolver,
    "min_confidence": _share,
    "collision_gap_threshold": _share,
    "collision_floor": _share,
    "clarification_attempts": _count,
    "clarification_turns": _count,
}
