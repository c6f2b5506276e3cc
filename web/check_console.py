"""Checks the sources of the console: their style, their types against the server, their tests."""

import sys
from collections.abc import Callable

from build_console import BuildFailed, npm
from write_types import main as write_types


def checks(*, fix: bool) -> dict[str, Callable[[], object]]:
    return {
        "style": lambda: npm("run", "fix" if fix else "lint"),
        "types": lambda: npm("exec", "--", "tsc", "--noEmit"),
        "tests": lambda: npm("test"),
    }


def main() -> int:
    fix = "--fix" in sys.argv
    failed = write_types(is_check=not fix)
    for name, check in checks(fix=fix).items():
        try:
            check()
        except BuildFailed as reason:
            print(reason)
            failed = 1
        else:
            print(f"{name}: passed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
