"""What is installed is pinned by hash, and no file depends on one registry or on one person's machine."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")
NODE_LOCKS = ("web/package-lock.json", "tests/browser/package-lock.json")
STOCK_LOCKS = ("tests/ovos/stable.lock", "tests/ovos/pre.lock")

# Written in pieces, so that this file passes its own test.
REGISTRIES = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "registry." + "npmjs",
    "deb." + "debian.org",
    "archive." + "ubuntu.com",
]
HOME_FOLDERS = "|".join(["home", "Users", "root", "work", "farm"])
OWN_PATH = re.compile(rf"(?<![\w.~/])/(?:{HOME_FOLDERS})/[\w.]")


@pytest.mark.parametrize("lock", LOCKS + STOCK_LOCKS)
def test_every_locked_package_has_a_hash(lock: str) -> None:
    packages = locked_packages(lock)

    assert packages
    assert [name for name, pins in packages.items() if "--hash=sha256:" not in pins] == []


@pytest.mark.parametrize("lock", LOCKS + STOCK_LOCKS)
def test_a_lock_names_no_host(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


@pytest.mark.parametrize("lock", NODE_LOCKS)
def test_every_package_of_node_has_a_hash_and_names_no_place(lock: str) -> None:
    packages = json.loads((ROOT / lock).read_text(encoding="utf-8"))["packages"]
    others = {name: pinned for name, pinned in packages.items() if name}

    assert others
    assert [name for name, pinned in others.items() if "integrity" not in pinned or "resolved" in pinned] == []


def test_what_is_tested_is_what_is_run() -> None:
    running, testing = (locked_packages(lock) for lock in LOCKS)

    assert {name: pins for name, pins in testing.items() if name in running} == running


def test_no_file_names_a_package_registry() -> None:
    named = [f"{path}: {host}" for path, text in tracked_texts() for host in REGISTRIES if host in text]

    assert named == []


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    named = [f"{path}: {found.group()}" for path, text in tracked_texts() for found in OWN_PATH.finditer(text)]

    assert named == []


def test_a_path_of_somebodys_machine_would_be_seen() -> None:
    folder = "/" + "home" + "/ada/turnkeeper"

    assert OWN_PATH.search(f"cd {folder}")
    assert not OWN_PATH.search(f"https://example.org{folder}")


def locked_packages(lock: str) -> dict[str, str]:
    """Each package with its version, marker and hashes."""
    entries = re.split(r"^(?=\S)", (ROOT / lock).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {entry.split("==")[0]: entry for entry in entries if entry.strip()}


def tracked_texts() -> list[tuple[str, str]]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [path for path in listed.stdout.split("\0") if path and (ROOT / path).is_file()]
    return [(path, (ROOT / path).read_text(encoding="utf-8", errors="replace")) for path in paths]
