"""The name that the files of a pack have by what they say."""

import hashlib
from collections.abc import Mapping

_RECIPE = b"turnkeeper pack 1\n"


def hash_of(files: Mapping[str, str]) -> str:
    """SHA-256 over paths and contents, whatever their order. Every letter counts, line ends too."""
    digest = hashlib.sha256(_RECIPE)
    for path, text in sorted(files.items()):
        for part in (path, text):
            # With its length in front, no content can pass for the path of a next file.
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
    return digest.hexdigest()
