"""A plain function as a tool: its schema, its arguments, and the resources that they name."""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scale import rounds
from turnkeeper.agents.tools import FunctionTool, ToolRegistry
from turnkeeper.model.tool import Resource, ResourceKind
from turnkeeper.ports.tools import ArtifactRef, KnowledgeBaseRef, ManifestRef, PointerRef, Reaches, ToolCall


@dataclass
class Window:
    pointer: PointerRef
    lines: int = 10


def read(
    call: ToolCall,
    pointer: PointerRef,
    path: Annotated[str, msgspec.Meta(description="Where in the tree.")],
    also: list[ArtifactRef] = [],  # noqa: B006 - a default like any other
    window: Window | None = None,
    named: dict[str, ManifestRef] | None = None,
) -> str:
    """Read a file.

    What follows is for people.
    """
    return path


def test_the_schema_is_derived_from_the_types_and_hides_the_call() -> None:
    spec = FunctionTool("docs.file.read", read).spec

    assert spec.description == "Read a file."
    assert spec.parameters["required"] == ["pointer", "path"]
    assert spec.parameters["additionalProperties"] is False
    assert spec.parameters["properties"]["path"] == {"type": "string", "description": "Where in the tree."}
    assert set(spec.parameters["properties"]) == {"pointer", "path", "also", "window", "named"}
    assert set(spec.parameters["$defs"]) == {"Window"}
    assert spec.action == "docs.file.read"


def test_every_resource_is_found_wherever_it_stands_in_the_arguments() -> None:
    tool = FunctionTool("docs.file.read", read)

    _, resources = tool.read(
        {
            "pointer": "ptr_1",
            "path": "a",
            "also": ["AA", "bb"],
            "window": {"pointer": "ptr_2"},
            "named": {"x": "CC"},
        }
    )

    assert [(each.kind.value, each.id) for each in resources] == [
        ("pointer", "ptr_1"),
        ("artifact", "aa"),
        ("artifact", "bb"),
        ("pointer", "ptr_2"),
        ("manifest", "cc"),
    ]
    assert tool.needs == {ResourceKind.POINTER}


class Place(NamedTuple):
    pointer: PointerRef
    line: int


class Form(TypedDict):
    pointer: PointerRef


def test_no_shape_of_a_type_hides_what_it_names() -> None:
    def look(place: Place, form: Form, all_of_it: Annotated[list[str], Reaches(ResourceKind.POINTER)]) -> None: ...

    _, resources = FunctionTool("docs.look", look).read(
        {"place": ["ptr_1", 3], "form": {"pointer": "ptr_2"}, "all_of_it": ["ptr_3", "ptr_4"]}
    )

    assert [each.id for each in resources] == ["ptr_1", "ptr_2", "ptr_3", "ptr_4"]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"pointer": 1, "path": "a"}, {"pointer": "p", "path": "a", "session_id": "sess_2"}, {"pointer": "p"}],
)
def test_what_does_not_fit_the_schema_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        FunctionTool("docs.file.read", read).read(arguments)


@given(
    arguments=st.dictionaries(
        st.text(max_size=5) | st.sampled_from(["pointer", "path", "also"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=5,
        ),
    )
)
@settings(max_examples=rounds(40, 2000))
def test_arguments_of_any_shape_are_read_or_refused(arguments: dict[str, Any]) -> None:
    tool = FunctionTool("docs.file.read", read)

    try:
        values, resources = tool.read(arguments)
    except msgspec.ValidationError:
        return

    assert Resource(kind=ResourceKind.POINTER, id=values["pointer"]) in resources


@pytest.mark.parametrize("name", ["", "Docs", "docs read", "a..b", "x" * 65, ".a"])
def test_a_tool_is_named_in_small_letters_and_dots(name: str) -> None:
    with pytest.raises(ValueError, match="in small letters"):
        FunctionTool(name, read)


def test_a_parameter_without_a_type_is_refused_at_once() -> None:
    def vague(thing) -> str:  # type: ignore[no-untyped-def]
        return str(thing)

    with pytest.raises(ValueError, match="has no type"):
        FunctionTool("a.b", vague)


def test_two_tools_of_one_name_are_a_mistake() -> None:
    def search(base: KnowledgeBaseRef, words: str) -> list[str]:
        return []

    registry = ToolRegistry()
    registry.add(FunctionTool("kb.search", search))

    with pytest.raises(ValueError, match="already registered"):
        registry.add(FunctionTool("kb.search", search))
    assert [tool.spec.name for tool in registry.all()] == ["kb.search"]
