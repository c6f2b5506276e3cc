"""Packs as archives, as somebody would send them."""

import io
import stat
import zipfile
from collections.abc import Mapping

_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def archive_of(files: Mapping[str, str]) -> bytes:
    """A .zip of these files: the same files give the same bytes, on every day and every machine."""
    target = io.BytesIO()
    # Not compressed: what a compressor makes of the same text depends on its version.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, text in sorted(files.items()):
            entry = zipfile.ZipInfo(name, date_time=_LONG_AGO)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            entry.create_system = 3
            archive.writestr(entry, text.encode())
    return target.getvalue()
