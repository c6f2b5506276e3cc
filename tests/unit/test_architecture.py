"""Imports point inwards, and importing turnkeeper costs nothing.

Every import counts: at the top of a module, inside a function, under TYPE_CHECKING, and by name through importlib.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import turnkeeper

SOURCE = Path(__file__).parents[2] / "src" / "turnkeeper"

BASE = {"ports", "model", "errors"}
CRAFTS = {"intent", "knowledge", "packs", "scope", "substrate", "ledger", "custody"}
INNER = BASE | CRAFTS | {"steps", "engine", "upkeep", "channels"}
FACES = {"server", "bus", "cli", "client"}
GIVEN_TO_FACES = {"schemas", "keeper", "keeping", "settings", "settling", "ledger", "turnkeeper"} | BASE

# Who may import whom. Every room may import itself; "turnkeeper" is the public face, __init__.py.
ROOMS: dict[str, set[str]] = {
    "model": set(),
    "errors": {"model"},
    "ports": {"model", "errors"},
    # How words are searched must be the same in every store and for what a client carries.
    "wording": {"model"},
    **dict.fromkeys(CRAFTS, BASE),
    "intent": {"wording"} | BASE,
    "knowledge": {"wording"} | BASE,
    "custody": {"knowledge"} | BASE,
    "packs": {"intent", "knowledge"} | BASE,
    "steps": {"settings"} | CRAFTS | BASE,
    "engine": {"steps", "settings"} | CRAFTS | BASE,
    "dispatch": {"engine"} | CRAFTS | BASE,
    "stores": {"wording"} | BASE,
    "telemetry": BASE,
    "schemas": set(),
    "agents": {"knowledge"} | BASE,
    "channels": BASE,
    "upkeep": {"ledger"} | BASE,
    "settings": {"model", "errors"},
    "settling": {"settings"},
    "wiring": {"settings", "stores", "agents", "telemetry"} | INNER,
    # What is done to a whole database needs no Turnkeeper.
    "databases": {"wiring", "upkeep"} | BASE,
    "keeper": {"wiring", "settings", "settling", "dispatch", "keeping", "verbs"} | INNER,
    "verbs": {"settings", "dispatch", "keeping", "agents"} | INNER,
    "keeping": {"settings", "schemas"} | INNER,
    "turnkeeper": {"keeper", "settings", "agents"} | BASE,
    "server": GIVEN_TO_FACES,
    "bus": GIVEN_TO_FACES,
    "client": {"bus"} | GIVEN_TO_FACES,
    # Units and packs are checked on files, without a session and so without a Turnkeeper.
    "cli": {"server", "client", "bus", "knowledge", "packs", "databases"} | GIVEN_TO_FACES,
    "testing": {"turnkeeper", "keeper", "wiring", "settings", "stores", "agents"} | INNER,
}

# Which rooms may use a package from outside the standard library. The model uses none.
LIBRARIES: dict[str, set[str]] = {
    "msgspec": ROOMS.keys() - {"model"},
    "snowballstemmer": {"wording"},
    "asyncpg": {"stores"},
    "fastapi": {"server"},
    "pydantic": {"server"},
    "sse_starlette": {"server"},
    "prometheus_client": {"telemetry"},
    "opentelemetry": {"telemetry"},
    "starlette": {"server"},
    "uvicorn": {"server", "cli"},
    "uvloop": {"server", "cli"},
    "cyclopts": {"cli"},
    "rich": {"cli"},
    "aiosqlite": {"agents"},
    "langchain_core": {"agents"},
    "langgraph": {"agents"},
    "psycopg": {"agents"},
    "psycopg_pool": {"agents"},
    "httpx2": {"agents", "channels", "client", "cli", "server"},
    "joserfc": {"server"},
    "websockets": {"bus", "client", "cli"},
    "cryptography": {"custody"},
    "aiosmtplib": {"channels"},
    "dateparser": {"intent"},
    "jsonschema_rs": {"channels", "intent", "keeping"},
    "phonenumbers": {"intent", "packs"},
    "rapidfuzz": {"intent", "packs"},
    "re2": {"intent"},
    "yaml": {"packs"},
    "text_to_num": {"intent"},
    "hypothesis": {"testing"},
    "pytest": {"testing"},
}

EXTRAS = LIBRARIES.keys() - {"msgspec", "snowballstemmer"}


def test_every_import_points_inwards() -> None:
    assert offenders(SOURCE) == []


def test_an_import_that_points_outwards_is_named(tmp_path: Path) -> None:
    package = a_package(
        tmp_path,
        {
            "model/session.py": "import msgspec\nfrom turnkeeper.errors import SessionMoved\n",
            "errors.py": "from turnkeeper.model import session\n",
            "ports/store.py": "def load():\n    from ..stores.sqlite import store\n",
            "steps/commit.py": "if TYPE_CHECKING:\n    from turnkeeper import engine, errors\n",
            "stores/sqlite/store.py": "import turnkeeper.ports.store\nimport importlib\n"
            "importlib.import_module('turnkeeper.keeper')\n",
            "server/app.py": "import fastapi\nfrom turnkeeper import Turnkeeper\nfrom turnkeeper.wiring import wire\n",
            "utils.py": "",
        },
    )

    named = offenders(package)

    assert named == [
        "model/session.py:1 imports msgspec; model may not",
        "model/session.py:2 imports turnkeeper.errors; model may not import errors",
        "ports/store.py:2 imports turnkeeper.stores.sqlite; ports may not import stores",
        "server/app.py:3 imports turnkeeper.wiring; server may not import wiring",
        "steps/commit.py:2 imports turnkeeper.engine; steps may not import engine",
        "stores/sqlite/store.py:3 imports turnkeeper.keeper; stores may not import keeper",
        "utils.py is in no room: give it a place, or give its room a row in ROOMS",
    ]


def test_importing_turnkeeper_opens_nothing_and_needs_no_extra() -> None:
    watched = subprocess.run([sys.executable, "-c", WATCH], capture_output=True, text=True, timeout=60)

    assert watched.returncode == 0, watched.stderr
    seen = json.loads(watched.stdout)
    assert seen["opened"] == []
    assert EXTRAS.intersection(seen["loaded"]) == set()


def test_opening_something_while_importing_would_be_seen() -> None:
    careless = WATCH.replace("import turnkeeper", "import socket; socket.socket(); open('/dev/null')")

    watched = subprocess.run([sys.executable, "-c", careless], capture_output=True, text=True, timeout=60, check=True)

    assert json.loads(watched.stdout)["opened"] == ["socket.__new__", "open /dev/null"]


def test_the_public_face_is_a_sorted_list_of_names() -> None:
    names = getattr(turnkeeper, "__all__", [])

    assert list(names) == sorted(set(names))
    assert [name for name in names if not hasattr(turnkeeper, name)] == []


def test_the_public_face_loads_what_is_looked_at_from_where_it_says() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    imported = {
        name.name: (node.module or "").removeprefix("turnkeeper.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("turnkeeper.")
        for name in node.names
    }

    assert imported == turnkeeper._HOMES
    assert sorted(imported) == turnkeeper.__all__
    with pytest.raises(AttributeError, match="turnkeeper has no 'Nobody'"):
        turnkeeper.Nobody  # type: ignore[attr-defined]  # noqa: B018


def test_a_part_of_turnkeeper_loads_that_part_alone() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import turnkeeper.cli, sys; print('turnkeeper.keeper' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert loaded.stdout == "False\n"


def offenders(package: Path) -> list[str]:
    """One line for each import that points outwards and each module that is in no room."""
    return [line for path in sorted(package.rglob("*.py")) for line in _offences_of(path, package)]


def _offences_of(path: Path, package: Path) -> Iterator[str]:
    module = path.relative_to(package)
    room = _room_of(module.with_suffix("").parts)
    if room not in ROOMS:
        yield f"{module} is in no room: give it a place, or give its room a row in ROOMS"
        return
    for line, target in sorted(_imports_of(path, package)):
        top, *rest = target.split(".")
        if top == "turnkeeper":
            wanted = _room_of(tuple(rest))
            if wanted != room and wanted not in ROOMS[room]:
                yield f"{module}:{line} imports {target}; {room} may not import {wanted}"
        elif top not in sys.stdlib_module_names and room not in LIBRARIES.get(top, set()):
            yield f"{module}:{line} imports {target}; {room} may not"


def _room_of(parts: tuple[str, ...]) -> str:
    first = parts[0] if parts else "__init__"
    return {"__init__": "turnkeeper", "__main__": "cli"}.get(first, first)


def _imports_of(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    folder = ("turnkeeper", *path.relative_to(package).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = folder[: len(folder) - level + 1] if level else ()
                source = ".".join([*above, *([module] if module else [])])
                if source != "turnkeeper":
                    yield node.lineno, source
                    continue
                # `from turnkeeper import x` means the room x, or else a name of the public face.
                for alias in names:
                    yield node.lineno, f"turnkeeper.{alias.name}" if alias.name in ROOMS else "turnkeeper"
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def a_package(folder: Path, modules: dict[str, str]) -> Path:
    for name, text in modules.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


WATCH = """
import json, sys

opened = []
CODE = (".py", ".pyc", ".so", ".pyd")

def watch(event, arguments):
    if event == "open":
        if isinstance(arguments[0], str) and not arguments[0].endswith(CODE) and ".pyc." not in arguments[0]:
            opened.append(f"open {arguments[0]}")
    elif event.startswith(("socket.", "sqlite3.connect", "subprocess.", "os.exec", "_thread.start")):
        opened.append(event)

sys.addaudithook(watch)
import turnkeeper
seen = list(opened)
print(json.dumps({"opened": seen, "loaded": sorted({name.partition(".")[0] for name in sys.modules})}))
"""
