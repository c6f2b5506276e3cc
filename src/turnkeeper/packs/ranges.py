"""What the values of a field may be, held against what they could be before: narrower, wider or merely different."""

from collections.abc import Iterator, Mapping
from typing import Any

_Node = Mapping[str, Any]

# A larger number leaves less room for these, and more room for those.
_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")


def narrowed(old: _Node, new: _Node) -> Iterator[str]:
    """What is no longer allowed, each in words that go on from the name of the field."""
    for key in (*_LEAST, *_MOST):
        if key in new and (key not in old or _is_tighter(key, old[key], new[key])):
            yield _said(key, old, new)
    for key in ("pattern", "multipleOf", "const"):
        if key in new and new[key] != old.get(key):
            yield _said(key, old, new)
    if new.get("uniqueItems") and not old.get("uniqueItems"):
        yield "takes no item twice any more"
    if "enum" in new and "enum" not in old:
        yield "now takes only choices from a list"
    lost = [choice for choice in old.get("enum", ()) if choice not in new.get("enum", (choice,))]
    if lost:
        yield f"lost the choices {', '.join(map(str, lost))}"


def widened(old: _Node, new: _Node) -> Iterator[str]:
    """What is now allowed as well."""
    for key in (*_LEAST, *_MOST):
        if key in old and (key not in new or _is_tighter(key, new[key], old[key])):
            yield _said(key, old, new)
    for key in ("pattern", "multipleOf", "const"):
        if key in old and key not in new:
            yield _said(key, old, new)
    if old.get("uniqueItems") and not new.get("uniqueItems"):
        yield "may now take an item twice"
    if "enum" in old and "enum" not in new:
        yield "now takes more than the choices of its list"
    gained = [choice for choice in new.get("enum", ()) if choice not in old.get("enum", (choice,))]
    if gained:
        yield f"gained the choices {', '.join(map(str, gained))}"


def _is_tighter(key: str, old: float, new: float) -> bool:
    return new > old if key in _LEAST else new < old


def _said(key: str, old: _Node, new: _Node) -> str:
    return f"changed its {key} from {old.get(key, 'none')} to {new.get(key, 'none')}"
