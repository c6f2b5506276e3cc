"""Typed values out of what a stranger sent, each fault with its JSON pointer."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnkeeper.errors import ChannelPayloadInvalid

MOST_FAULTS = 50


def below(pointer: str, name: str | int) -> str:
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"


class Shape:
    """An object that is asked for its members. Faults are gathered, and told together by `settle`."""

    def __init__(self, value: Any, pointer: str, faults: list[dict[str, str]] | None = None) -> None:
        self.pointer = pointer
        self._faults: list[dict[str, str]] = [] if faults is None else faults
        self._value: Mapping[str, Any] = {}
        if isinstance(value, Mapping):
            self._value = value
        else:
            self._note(pointer, "must be an object")

    def __contains__(self, name: str) -> bool:
        return self._value.get(name) is not None

    def settle(self) -> None:
        """Raises ChannelPayloadInvalid if anything was wrong so far."""
        if not self._faults:
            return
        first = self._faults[0]
        raise ChannelPayloadInvalid(
            f"The message is not valid at {first['pointer'] or '/'}: {first['message']}.", details=self._faults
        )

    def fault(self, name: str | int, message: str) -> None:
        self._note(below(self.pointer, name), message)

    def text(self, name: str, *, required: bool = False, most: int | None = None) -> str | None:
        value = self._given(name, required=required)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fault(name, "must be a text")
            return None
        if most is not None and len(value) > most:
            self.fault(name, f"has more than {most} characters")
            return None
        return value

    def label(self, name: str) -> str:
        """A name, which some write as a number; empty without one."""
        value = self._given(name)
        if value is None or isinstance(value, str):
            return value or ""
        return str(self.whole(name))

    def is_flag(self, name: str) -> bool:
        return isinstance(self._value.get(name), bool)

    def is_text(self, name: str) -> bool:
        return isinstance(self._value.get(name), str)

    def flag(self, name: str) -> bool | None:
        value = self._given(name)
        if value is None or isinstance(value, bool):
            return value
        self.fault(name, "must be true or false")
        return None

    def whole(self, name: str, *, least: int = 0, most: int | None = None, required: bool = False) -> int | None:
        value = self._given(name, required=required)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.fault(name, "must be a whole number")
        elif value < least or (most is not None and value > most):
            self.fault(name, f"must be at least {least}" if most is None else f"must lie between {least} and {most}")
        else:
            return value
        return None

    def number(self, name: str, *, least: float = 0, most: float = math.inf) -> float | None:
        value = self._given(name)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            self.fault(name, "must be a number")
        elif not least <= value <= most or (isinstance(value, float) and not math.isfinite(value)):
            self.fault(
                name, f"must be at least {least}" if most == math.inf else f"must lie between {least} and {most}"
            )
        else:
            return value
        return None

    def object(self, name: str, *, required: bool = False) -> "Shape | None":
        value = self._given(name, required=required)
        return None if value is None else Shape(value, below(self.pointer, name), self._faults)

    def items(self, name: str, *, most: int, required: bool = False) -> Sequence[Any]:
        value = self._given(name, required=required)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            self.fault(name, "must be a list")
        elif len(value) > most:
            self.fault(name, f"has more than {most} items")
        else:
            return value
        return ()

    def objects(self, name: str, *, most: int, required: bool = False) -> Iterator["Shape"]:
        for number, each in enumerate(self.items(name, most=most, required=required)):
            yield Shape(each, below(below(self.pointer, name), number), self._faults)

    def texts(self, name: str, *, most: int) -> tuple[str, ...]:
        """A list of texts; a single one is taken for a list of it."""
        value = self._given(name)
        if isinstance(value, str):
            return (value,)
        read = []
        for number, each in enumerate(self.items(name, most=most)):
            if isinstance(each, str):
                read.append(each)
            else:
                self._note(below(below(self.pointer, name), number), "must be a text")
        return tuple(read)

    def _given(self, name: str, *, required: bool = False) -> Any:
        value = self._value.get(name)
        if value is None and required:
            self.fault(name, "is missing")
        return value

    def _note(self, pointer: str, message: str) -> None:
        if len(self._faults) < MOST_FAULTS:
            self._faults.append({"pointer": pointer, "message": message})
