"""The environments of the stock clients; without them these tests fail, and are never left out."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def stable() -> Path:
    return _environment("stable")


@pytest.fixture
def pre() -> Path:
    return _environment("pre")


def _environment(name: str) -> Path:
    """Where the programs of an environment are."""
    environment = ROOT / f".venv-ovos-{name}"
    stamp = environment / "turnkeeper-stamp.json"
    if not stamp.exists() or f"{name}.lock" not in json.loads(stamp.read_text(encoding="utf-8")):
        pytest.fail(f"{environment.name} is not there: `./dev test tests/ovos` sets it up.")
    return environment / "bin"
