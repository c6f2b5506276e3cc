"""Which turnkeeper this is."""

import importlib.metadata


def own_version() -> str:
    try:
        return importlib.metadata.version("turnkeeper")
    except importlib.metadata.PackageNotFoundError:
        return "0 (not installed)"
