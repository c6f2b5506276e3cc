"""An archive is sent while it is made."""

import io
import os
import zipfile
from collections.abc import AsyncIterator

from turnkeeper.keeping.zipping import SEND_BYTES, Zipping
from turnkeeper.testing.clock import NOON

PIECE = 50_000


async def test_no_more_than_a_piece_of_an_archive_is_ever_held() -> None:
    given: list[bytes] = []
    most_waiting = 0
    zipping, sent = Zipping(NOON), bytearray()

    async def content() -> AsyncIterator[bytes]:
        nonlocal most_waiting
        for _ in range(60):
            # What was given before and has not been sent yet; random bytes do not get smaller.
            most_waiting = max(most_waiting, sum(map(len, given)) - len(sent))
            given.append(os.urandom(PIECE))
            yield given[-1]

    async for piece in zipping.add("large", content()):
        sent += piece
    sent += zipping.finish()

    assert most_waiting < 2 * (SEND_BYTES + PIECE)
    archive = zipfile.ZipFile(io.BytesIO(bytes(sent)))
    assert archive.read("large") == b"".join(given)
    assert zipping.members[0].bytes == 60 * PIECE
