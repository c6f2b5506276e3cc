"""Writes the pages of the reference that the code can tell; with --check it says whether they are up to date."""

import asyncio
import inspect
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

from turnkeeper import AgentTurn, Principal, Reply, Settings, Turnkeeper, errors
from turnkeeper.model.message import Message
from turnkeeper.model.run import Run
from turnkeeper.model.session import Session
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import StaticIdentities
from turnkeeper.verbs.beginning import Beginning
from turnkeeper.verbs.house import House
from turnkeeper.verbs.registering import Registering
from turnkeeper.verbs.runs import Runs
from turnkeeper.verbs.sessions import Sessions
from turnkeeper.verbs.talking import Talking

HERE = Path(__file__).parent
OPERATIONS = HERE / "http-operations.md"
HTTP = HERE / "http.md"
PYTHON = HERE / "python.md"
PROBLEM = "application/problem+json"
ERRORS = "| Code | Status | Retryable | Title |\n|---|---|---|---|\n"


async def document() -> dict[str, Any]:
    """What a server says about itself."""
    with tempfile.TemporaryDirectory() as folder:
        async with Turnkeeper.open(Path(folder) / "empty.db") as keeper:
            return create_app(keeper, StaticIdentities([])).openapi()


def operations_page(described: dict[str, Any]) -> str:
    return "\n".join(_operations(described))


def _operations(described: dict[str, Any]) -> Iterator[str]:
    yield "# Every operation\n"
    yield "Written from the code by `./dev docs`; what it all means is in [HTTP](http.md), the exact shapes are in"
    yield "`/openapi.json` and, to be tried out, at `/docs` of a running server. The operation id is what generated"
    yield "clients call it."
    common = everywhere(described)
    yield f"\nWhatever is asked of the API may be answered with {', '.join(f'`{code}`' for code in sorted(common))}."
    for group in described["tags"]:
        found = [each for each in _each(described) if group["name"] in each[2]["tags"]]
        if found:
            yield f"\n## {group['name'].capitalize()}\n\n{group['description']}"
        for method, path, operation in found:
            yield from _operation(method, path, operation, common)
    yield ""


def everywhere(described: dict[str, Any]) -> set[str]:
    """The errors that all operations of the API share."""
    of_api = [_codes(operation) for _, path, operation in _each(described) if path.startswith("/api/")]
    return set.intersection(*of_api)


def _codes(operation: dict[str, Any]) -> set[str]:
    told = [answer["content"][PROBLEM] for status, answer in operation["responses"].items() if status >= "400"]
    return {code for media in told for code in media["examples"]}


def _each(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


def _operation(method: str, path: str, operation: dict[str, Any], common: set[str]) -> Iterator[str]:
    yield f"\n### `{method} {path}`\n"
    yield f"`{operation['operationId']}`: {operation['description']}\n"
    parameters = operation.get("parameters", [])
    if parameters:
        yield "| Parameter | In | What it is |\n|---|---|---|"
        for each in parameters:
            needed = ", needed" if each["in"] == "query" and each.get("required") else ""
            yield f"| `{each['name']}` | {each['in']}{needed} | {each['description']} |"
        yield ""
    if body := operation.get("requestBody"):
        yield f"Body: {', '.join(_shape(kind, media) for kind, media in body['content'].items())}.\n"
    answers = []
    for status, told in operation["responses"].items():
        if status < "400":
            shapes = ", ".join(_shape(kind, media) for kind, media in told.get("content", {}).items())
            answers.append(f"{status} {shapes}".strip())
    own = ", ".join(f"`{code}`" for code in sorted(_codes(operation) - common))
    yield f"Answers: {'; '.join(answers)}." + (f" Errors: {own}." if own else "")


def _shape(kind: str, media: dict[str, Any]) -> str:
    schema = media.get("schema", {})
    name = (schema.get("$ref") or next((c["$ref"] for c in schema.get("anyOf", ()) if "$ref" in c), "")).split("/")[-1]
    return f"`{name}`" if name and kind == "application/json" else kind


def http_page(page: str) -> str:
    """The page with the table of errors that the code has; everything before it is written by hand."""
    return page.partition(ERRORS)[0] + ERRORS + "".join(f"{_error(*each)}\n" for each in sorted(every_error()))


def every_error() -> set[tuple[str, int, bool, str]]:
    found = {(errors.TurnkeeperError.code, 500, False, errors.TurnkeeperError.title)}
    for kind in _subclasses_of(errors.TurnkeeperError):
        if kind is not errors.RunEnded:
            found.add((kind.code, kind.http_status, kind.retryable, kind.title))
    for code, status, retryable, _ in errors.ENDS_OF_RUN.values():
        if code != errors.AgentFailed.code:
            found.add((code, status, retryable, errors.RunEnded.title))
    return found


def _subclasses_of(kind: type[errors.TurnkeeperError]) -> set[type[errors.TurnkeeperError]]:
    direct = {other for other in kind.__subclasses__() if other.__module__.startswith(errors.__name__)}
    return direct.union(*(_subclasses_of(other) for other in direct)) if direct else direct


def _error(code: str, status: int, retryable: bool, title: str) -> str:
    return f"| `{code}` | {status} | {'yes' if retryable else 'no'} | {title} |"


PARTS = (
    *("units", "bases", "packs", "approvals", "artifacts", "manifests", "pointers", "substrate", "scoping"),
    *("tenants", "users", "definitions", "bindings", "channels", "deliveries", "keys", "seals", "audit", "erasure"),
)
"""What a Turnkeeper holds; projects and objectives have the verbs of tenants."""


def python_page() -> str:
    return "\n".join(_python())


def _python() -> Iterator[str]:
    yield "# The Python face\n"
    yield "Written from the code by `./dev docs`. `Turnkeeper` is the embedded face; `turnkeeper.client.Turnkeeper` has"
    yield "the same verbs [over HTTP](../guides/client.md). Verbs raise `TurnkeeperError` with a stable `code`, see"
    yield "[HTTP](http.md#errors). Each also takes `principal`, who is asking: the owner of `default` if left out.\n"
    yield f"## Turnkeeper\n\n{_words(Turnkeeper)}\n"
    yield from _verbs(Turnkeeper, "keeper", only=("open", "drain", "close", "looking_in"))
    for kind in (Registering, Talking, Beginning, Sessions, Runs, House):
        yield f"\n## {_words(sys.modules[kind.__module__]).rstrip('.')}\n"
        yield from _verbs(kind, "keeper")
    keeper = Turnkeeper(Settings())
    for name in PARTS:
        part = getattr(keeper, name)
        yield f"\n## keeper.{name}\n\n{_words(type(part)) or _words(sys.modules[type(part).__module__])}\n"
        yield from _verbs(type(part), f"keeper.{name}")
    yield f"\n## What an agent is handed\n\n{_words(AgentTurn)}\n"
    yield from _verbs(AgentTurn, "turn")
    for kind in (Reply, Session, Run, Message, Principal):
        yield f"\n## {kind.__name__}\n\n{_words(kind)}\n"
        yield from (f"- `{name}: {_plain(each)}`" for name, each in get_type_hints(kind).items())
    yield ""


def _verbs(kind: type, called: str, *, only: tuple[str, ...] | None = None) -> Iterator[str]:
    for name, member in vars(kind).items():
        if name.startswith("_") or (only is not None and name not in only):
            continue
        verb = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not inspect.isfunction(verb):
            continue
        awaited = "await " if inspect.iscoroutinefunction(verb) else ""
        yield f"- `{awaited}{called}.{name}{'' if isinstance(member, property) else _signature(verb)}`" + _told(verb)


def _signature(verb: Any) -> str:
    """As one would write it: without the places of types, and without who is asking and who traces it."""
    signature = inspect.signature(verb)
    hidden = ("self", "cls", "principal", "trace_id", "trace")
    shown = str(
        signature.replace(parameters=[each for each in signature.parameters.values() if each.name not in hidden])
    )
    shown = re.sub(r"<\w+\.\w+: ('[^']*')>", r"\1", shown)
    shown = re.sub(r"\b[a-z_]+(?:\.[a-z_]+)*\.(?=[A-Z])", "", shown).replace("~", "")
    return re.sub(r"'([A-Z]\w*)'", r"\1", shown)


def _plain(annotation: Any) -> str:
    return re.sub(r"\b[a-z_]+(?:\.[a-z_]+)*\.(?=[A-Z])", "", inspect.formatannotation(annotation))


def _told(verb: Any) -> str:
    words = _words(verb)
    return f"\\\n  {' '.join(words.split())}" if words else ""


def _words(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def pages() -> dict[Path, str]:
    return {
        OPERATIONS: operations_page(asyncio.run(document())),
        HTTP: http_page(HTTP.read_text(encoding="utf-8")),
        PYTHON: python_page(),
    }


def main() -> int:
    stale = {path: text for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text}
    if "--check" not in sys.argv:
        for path, text in stale.items():
            path.write_text(text, encoding="utf-8")
        return 0
    for path in stale:
        print(f"{path.name} is not what the code says. Write it anew with: ./dev docs")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
