"""Telling a copy under an old name from a message that only looks like one.

A copy is marked, and comes after its original. The mark alone proves nothing: whoever replies to a copy, and knows no
marks, sends it along with words of their own. So a marked message is a copy only if its original was heard.
"""

import hashlib
import json
from typing import Any

from turnkeeper.bus import carrier

MOST_ORIGINALS = 1024


class Originals:
    """The last originals whose copies are still to come; a copy follows at once, so a few are enough."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, int] = {}

    def heard(self, type: str, data: dict[str, Any], context: dict[str, Any]) -> None:
        print_ = _print(type, data, context)
        self._waiting[print_] = self._waiting.pop(print_, 0) + 1
        if len(self._waiting) > MOST_ORIGINALS:
            del self._waiting[next(iter(self._waiting))]

    def has(self, type: str, data: dict[str, Any], context: dict[str, Any]) -> bool:
        """Whether the original of this copy was heard. One original has one copy."""
        print_ = _print(type, data, context)
        count = self._waiting.pop(print_, 0)
        if count > 1:
            self._waiting[print_] = count - 1
        return count > 0


def _print(type: str, data: dict[str, Any], context: dict[str, Any]) -> bytes:
    """Of the session only which one it is: a copy may be late, and the session another by then."""
    session = context.get("session")
    known = {**context, "session": carrier.session_id_of(session) if isinstance(session, dict) else session}
    said = json.dumps([type, data, known], sort_keys=True)
    return hashlib.blake2b(said.encode(errors="surrogatepass"), digest_size=16).digest()
