"""What is taken from a folder or an archive: names are checked and sizes are counted here, wherever it comes from."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.packs.faults import START, PackFault, PackFaultCode, fault_at, shown

MIB = 1024 * 1024

_LEFTOVERS = re.compile(
    r"\..*|.*~|#.*#|.*\.(swp|swo|bak|orig|rej|tmp|pyc)|__MACOSX|__pycache__|Thumbs\.db|desktop\.ini"
)
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    files: int = 500
    file_bytes: int = MIB
    bytes: int = MIB


class Refused(Exception):
    """Ends the reading: what comes behind this fault is not looked at."""

    def __init__(self, name: str, code: PackFaultCode, message: str) -> None:
        super().__init__(message)
        self.fault = fault_at(name, START, code, message)


@dataclass(slots=True, kw_only=True)
class Gathering:
    """What was read so far, and what was wrong with it."""

    limits: FileLimits
    contents: dict[str, bytes] = field(default_factory=dict)
    faults: list[PackFault] = field(default_factory=list)
    seen: int = 0

    def wants(self, name: str) -> bool:
        """Whether to read this one. Raises Refused when there are too many, whether they are wanted or not."""
        self.seen += 1
        # Folders and what is ignored count too, or an archive of nothing else would have no end.
        if self.seen > self.limits.files * 2 or len(self.contents) >= self.limits.files:
            message = f"A pack has at most {self.limits.files} files. Take out what does not belong to it."
            raise Refused(name, PackFaultCode.TOO_MANY_FILES, message)
        if not _is_safe(name):
            message = f"{shown(name)} leads out of the pack. Name files relative to the folder of pack.yaml."
            self.refuse(name, PackFaultCode.UNSAFE_NAME, message)
            return False
        return not _is_leftover(name)

    def refuse(self, name: str, code: PackFaultCode, message: str) -> None:
        self.faults.append(fault_at(name, START, code, message))

    @property
    def most(self) -> int:
        """How many bytes of the next file are read at most: one more than it may have."""
        taken = sum(map(len, self.contents.values()))
        return min(self.limits.file_bytes, self.limits.bytes - taken) + 1

    def take(self, name: str, content: bytes) -> None:
        path = str(PurePosixPath(name))
        if path in self.contents:
            message = "The archive holds this file twice. Keep one of them."
            self.refuse(path, PackFaultCode.REPEATED_FILE, message)
        elif len(content) > self.limits.file_bytes:
            message = f"A file has at most {self.limits.file_bytes:,} bytes. Cut it into several."
            self.refuse(path, PackFaultCode.TOO_LARGE, message)
        elif len(content) >= self.most:
            message = f"All files together have at most {self.limits.bytes:,} bytes. Take out what is not needed."
            raise Refused(path, PackFaultCode.TOO_LARGE, message)
        else:
            self.contents[path] = content


def _is_safe(name: str) -> bool:
    parts = name.rstrip("/").split("/")
    is_relative = not _DRIVE.match(name) and not {"", ".."}.intersection(parts)
    return is_relative and "\\" not in name and is_plain_text(name)


def _is_leftover(name: str) -> bool:
    return any(_LEFTOVERS.fullmatch(part) for part in PurePosixPath(name).parts)
