"""What became different between two versions of a pack, file by file and in words of the domain."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from turnkeeper.model.pack import Intent, JsonSchema, Pack
from turnkeeper.model.pack_config import config_keys
from turnkeeper.packs.ranges import narrowed, widened
from turnkeeper.packs.reading import read_pack
from turnkeeper.packs.schemas import FormField, fields_of


class Level(StrEnum):
    """How much a change asks of those who use the pack.

    Major takes something away or asks for more: an intent, state or field is gone or means something else, a field is
    now required or takes less than before, a grant is needed. Minor adds or adjusts: an intent, state or field is new,
    a field takes more than before, the config changed.
    Patch is all the rest: texts, examples, rules, knowledge.
    """

    PATCH = "patch"
    MINOR = "minor"
    MAJOR = "major"


_ORDER = (Level.PATCH, Level.MINOR, Level.MAJOR)


class FileChangeKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    path: str
    kind: FileChangeKind
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    level: Level
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """`level` is None where nothing changed, or where one of the two has faults, so that nobody can tell."""

    files: tuple[FileChange, ...]
    changes: tuple[Change, ...]
    level: Level | None
    next_version: str | None


def differences(old_files: Mapping[str, str], new_files: Mapping[str, str]) -> Differences:
    files = tuple(_file_changes(old_files, new_files))
    old, new = read_pack(old_files)[0], read_pack(new_files)[0]
    if old is None or new is None or not files:
        return Differences(files=files, changes=(), level=None, next_version=None)
    changes = tuple(_changes(old, new))
    level = max((change.level for change in changes), key=_ORDER.index, default=Level.PATCH)
    return Differences(files=files, changes=changes, level=level, next_version=_raised(old.version, level))


def _file_changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[FileChange]:
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) == new.get(path):
            continue
        kind = FileChangeKind.CHANGED
        if path not in old:
            kind = FileChangeKind.ADDED
        elif path not in new:
            kind = FileChangeKind.REMOVED
        yield FileChange(path=path, kind=kind, diff=_diff(path, old.get(path, ""), new.get(path, "")))


def _diff(path: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"old/{path}", f"new/{path}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _changes(old: Pack, new: Pack) -> Iterator[Change]:
    yield from _intent_changes(old, new)
    yield from _schema_changes(old, new)
    yield from _config_changes(old, new)


def _intent_changes(old: Pack, new: Pack) -> Iterator[Change]:
    before, after = ({intent.code: intent for intent in pack.intents} for pack in (old, new))
    yield from _removed("intent", before, after)
    yield from _added("intent", before, after)
    for code in sorted(before.keys() & after.keys()):
        yield from _changes_of_intent(before[code], after[code])


def _changes_of_intent(old: Intent, new: Intent) -> Iterator[Change]:
    before, after = ({f"{old.code}.{state.code}": state for state in intent.states} for intent in (old, new))
    yield from _removed("state", before, after)
    yield from _added("state", before, after)
    for grant in sorted(set(new.grants) - set(old.grants)):
        yield Change(level=Level.MAJOR, message=f"{old.code} now needs the grant {grant}")
    for grant in sorted(set(old.grants) - set(new.grants)):
        yield Change(level=Level.MINOR, message=f"{old.code} no longer needs the grant {grant}")


def _schema_changes(old: Pack, new: Pack) -> Iterator[Change]:
    for name in sorted(old.schemas.keys() | new.schemas.keys()):
        before, after = _fields(name, old.schemas.get(name)), _fields(name, new.schemas.get(name))
        yield from _removed("field", before, after)
        yield from _added("field", before, after)
        for path in sorted(after):
            yield from _changes_of_field(path, before.get(path), after[path])


def _fields(name: str, schema: JsonSchema | None) -> dict[str, FormField]:
    return {f"{name}.{each.name}": each for each in fields_of(schema or {})}


def _changes_of_field(path: str, old: FormField | None, new: FormField) -> Iterator[Change]:
    if new.is_required and not (old and old.is_required):
        yield Change(level=Level.MAJOR, message=f"field {path} is now required")
    if old is None:
        return
    if old.is_required and not new.is_required:
        yield Change(level=Level.MINOR, message=f"field {path} is no longer required")
    for key in ("type", "format"):
        if old.node.get(key) != new.node.get(key):
            said = f"from {old.node.get(key, 'none')} to {new.node.get(key, 'none')}"
            yield Change(level=Level.MAJOR, message=f"field {path} changed its {key} {said}")
    for said in narrowed(old.node, new.node):
        yield Change(level=Level.MAJOR, message=f"field {path} {said}")
    for said in widened(old.node, new.node):
        yield Change(level=Level.MINOR, message=f"field {path} {said}")
    if "items" in old.node and "items" in new.node:
        yield from _changes_of_items(path, old.node["items"], new.node["items"])


def _changes_of_items(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """What each item of a list may be is a field of its own, but for its name."""
    before, after = (FormField(name=path, node=node, is_required=False, is_certain=False) for node in (old, new))
    return _changes_of_field(f"{path}[]", before, after)


def _config_changes(old: Pack, new: Pack) -> Iterator[Change]:
    for key in config_keys():
        before, after = getattr(old.config, key.lower()), getattr(new.config, key.lower())
        if before != after:
            yield Change(level=Level.MINOR, message=f"config {key} changed from {before!s} to {after!s}")


def _removed(what: str, old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[Change]:
    return (Change(level=Level.MAJOR, message=f"{what} {name} removed") for name in sorted(old.keys() - new.keys()))


def _added(what: str, old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[Change]:
    return (Change(level=Level.MINOR, message=f"{what} {name} added") for name in sorted(new.keys() - old.keys()))


def _raised(version: str, level: Level) -> str:
    major, minor, patch = map(int, version.split("."))
    match level:
        case Level.MAJOR:
            return f"{major + 1}.0.0"
        case Level.MINOR:
            return f"{major}.{minor + 1}.0"
        case Level.PATCH:
            return f"{major}.{minor}.{patch + 1}"
