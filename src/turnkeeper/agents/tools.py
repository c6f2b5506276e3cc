"""Plain Python functions as tools: what they take is read from their types."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.tool import Resource, ResourceKind, ToolSpec
from turnkeeper.ports.tools import Reaches, Tool, ToolCall

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
MOST_NAME_CHARS = 64


class FunctionTool:
    """A parameter of type ToolCall is handed the call; all others are the parameters that a model sees."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        action: str | None = None,
        safety_mode: SafetyMode = SafetyMode.READ_ONLY,
        repeatable: bool = False,
    ) -> None:
        if not _NAME.fullmatch(name) or len(name) > MOST_NAME_CHARS:
            raise ValueError(f"a tool is named like domain.resource.action, in small letters, not {name!r}")
        self._function = function
        self._takes_call, fields = _parameters_of(name, function)
        self._types = {field[0]: field[1] for field in fields}
        self._struct = msgspec.defstruct("Parameters", fields, kw_only=True, forbid_unknown_fields=True)
        self.needs = frozenset(
            kind for field in fields if len(field) == 2 for kind in _kinds_in(field[1], is_needed=True)
        )
        self.spec = ToolSpec(
            name=name,
            description=inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0],
            parameters=_schema_of(self._struct),
            action=action or name,
            safety_mode=safety_mode,
            repeatable=repeatable,
        )

    def read(self, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[Resource, ...]]:
        read = msgspec.convert(dict(arguments), self._struct, strict=True)
        values = {name: getattr(read, name) for name in self._types}
        named = (found for name, type in self._types.items() for found in _resources_in(type, values[name]))
        return values, tuple(dict.fromkeys(named))

    async def run(self, call: ToolCall, arguments: Mapping[str, Any]) -> Any:
        given = dict(arguments)
        if self._takes_call is not None:
            given[self._takes_call] = call
        result = self._function(**given)
        return await result if inspect.isawaitable(result) else result


class ToolRegistry:
    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def add(self, tool: Tool) -> None:
        if tool.spec.name in self._tools:
            raise ValueError(f"a tool {tool.spec.name!r} is already registered")
        self._tools[tool.spec.name] = tool

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def all(self) -> Sequence[Tool]:
        return [self._tools[name] for name in sorted(self._tools)]


def _parameters_of(name: str, function: Callable[..., Any]) -> tuple[str | None, list[Any]]:
    """The name of the parameter that takes the call, and the others as fields of a struct."""
    types = get_type_hints(function, include_extras=True)
    takes_call: str | None = None
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(f"the tool {name!r} takes its parameters by name, not {parameter}")
        type = types.get(parameter.name)
        if type is ToolCall:
            takes_call = parameter.name
        elif type is None:
            raise ValueError(f"the parameter {parameter.name!r} of the tool {name!r} has no type")
        elif parameter.default is parameter.empty:
            fields.append((parameter.name, type))
        else:
            fields.append((parameter.name, type, parameter.default))
    return takes_call, fields


def _schema_of(struct: type[Any]) -> Mapping[str, Any]:
    _, parts = msgspec.json.schema_components((struct,))
    schema = {**parts.pop("Parameters")}
    schema.pop("title", None)
    return {**schema, "$defs": parts} if parts else schema


def _resources_in(type: Any, value: Any) -> Iterator[Resource]:
    """What a value names, wherever in it a type says that it names something."""
    origin, arguments = get_origin(type), get_args(type)
    if origin is Annotated:
        kinds = [each.kind for each in type.__metadata__ if isinstance(each, Reaches)]
        yield from (Resource(kind=kind, id=_id_of(kind, text)) for kind in kinds for text in _texts_in(value))
        yield from _resources_in(arguments[0], value)
    elif origin in (Union, UnionType):
        for each in arguments:
            yield from _resources_in(each, value)
    elif is_typeddict(type) or _is_named_tuple(type):
        for name, inner in get_type_hints(type, include_extras=True).items():
            given = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
            yield from _resources_in(inner, given)
    elif isinstance(value, Mapping) and len(arguments) == 2:
        for key, each in value.items():
            yield from _resources_in(arguments[0], key)
            yield from _resources_in(arguments[1], each)
    elif isinstance(value, list | tuple | set | frozenset) and arguments:
        inside = [each for each in arguments if each is not Ellipsis]
        for place, each in enumerate(value):
            yield from _resources_in(inside[place] if len(inside) == len(value) else inside[0], each)
    elif _has_fields(type) and isinstance(value, type):
        for name, inner in get_type_hints(type, include_extras=True).items():
            yield from _resources_in(inner, getattr(value, name, None))


def _texts_in(value: Any) -> Iterator[str]:
    """Every text in a value, however deep: what is marked as a whole is marked in all of its parts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts_in(key)
            yield from _texts_in(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _texts_in(each)


def _is_named_tuple(type: Any) -> bool:
    return inspect.isclass(type) and issubclass(type, tuple) and hasattr(type, "_fields")


def _kinds_in(type: Any, *, is_needed: bool) -> Iterator[ResourceKind]:
    """The kinds that a required parameter always names: not those in a list, which may be empty, or beside None."""
    origin, arguments = get_origin(type), get_args(type)
    if origin is Annotated and is_needed:
        yield from (each.kind for each in type.__metadata__ if isinstance(each, Reaches))
    elif origin in (Union, UnionType) and NoneType not in arguments and len(arguments) == 1:
        yield from _kinds_in(arguments[0], is_needed=is_needed)


def _has_fields(type: Any) -> bool:
    return inspect.isclass(type) and (dataclasses.is_dataclass(type) or issubclass(type, msgspec.Struct))


def _id_of(kind: ResourceKind, value: str) -> str:
    return value.lower() if kind in (ResourceKind.ARTIFACT, ResourceKind.MANIFEST) else value
