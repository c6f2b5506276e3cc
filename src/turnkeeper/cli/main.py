"""Where the command `turnkeeper` begins."""

import importlib.util
import sys

NEEDED = ("cyclopts", "rich", "fastapi", "sse_starlette", "uvicorn", "httptools", "httpx2")


def main() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"turnkeeper: the command needs packages that are not installed: {', '.join(missing)}.\n"
            "Install them with: pip install 'turnkeeper[server]'",
            file=sys.stderr,
        )
        sys.exit(2)
    from turnkeeper.cli.commands import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
