"""Writes src/api/schema.gen.ts from what a server says about itself; with --check it says whether it is up to date."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from build_console import WEB, BuildFailed, install_packages, npm

from turnkeeper import Turnkeeper
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import StaticIdentities

TYPES = WEB / "src" / "api" / "schema.gen.ts"


async def document() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        async with Turnkeeper.open(Path(folder) / "empty.db") as keeper:
            return create_app(keeper, StaticIdentities([])).openapi()


def only_the_shapes(described: dict[str, Any]) -> dict[str, Any]:
    """Every refusal is a Problem for the console, whatever its status; and nobody reads examples here."""
    for operations in described["paths"].values():
        for operation in operations.values():
            operation["responses"] = {
                status: response for status, response in operation["responses"].items() if status.startswith("2")
            }
            for response in operation["responses"].values():
                response.pop("headers", None)
            for told in (operation.get("requestBody", {}), *operation["responses"].values()):
                for content in told.get("content", {}).values():
                    content.pop("example", None)
                    content.pop("examples", None)
    return described


def types() -> str:
    """Raises BuildFailed."""
    install_packages()
    with tempfile.TemporaryDirectory() as folder:
        told, made = Path(folder) / "openapi.json", Path(folder) / "schema.gen.ts"
        told.write_text(json.dumps(only_the_shapes(asyncio.run(document()))), encoding="utf-8")
        # What has a default may be left out of a request; answers name all that they always hold as required.
        options = ("--root-types", "--root-types-no-schema-prefix", "--default-non-nullable", "false")
        npm("exec", "--", "openapi-typescript", str(told), "-o", str(made), *options)
        return made.read_text(encoding="utf-8")


def main(*, is_check: bool) -> int:
    try:
        made = types()
    except BuildFailed as failed:
        print(failed)
        return 1
    if TYPES.exists() and TYPES.read_text(encoding="utf-8") == made:
        return 0
    if is_check:
        print(f"{TYPES.name} is not what the server says. Write it anew with: ./dev docs")
        return 1
    TYPES.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(is_check="--check" in sys.argv))
