"""The packs that come along, to look at, to try and to begin from."""

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable


def demo_packs() -> Mapping[str, dict[str, str]]:
    """The files of each demo pack by its name, which is its id."""
    folder = files("turnkeeper.packs").joinpath("demo")
    return {pack.name: _files_in(pack, "") for pack in sorted(folder.iterdir(), key=_name) if pack.is_dir()}


def _files_in(folder: Traversable, above: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in sorted(folder.iterdir(), key=_name):
        if entry.is_dir():
            found.update(_files_in(entry, f"{above}{entry.name}/"))
        else:
            found[f"{above}{entry.name}"] = entry.read_text(encoding="utf-8")
    return found


def _name(entry: Traversable) -> str:
    return entry.name
