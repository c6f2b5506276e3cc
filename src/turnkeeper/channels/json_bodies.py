"""Reading the JSON that is posted to a channel, and refusing what can be read in two ways."""

from typing import Any

from turnkeeper.channels.plain import MOST_DEPTH, plain
from turnkeeper.errors import ChannelPayloadInvalid
from turnkeeper.model.strict_json import NotStrictJson, read_strictly

MOST_BYTES = 8 * 1024 * 1024


def read_object(body: bytes) -> dict[str, Any]:
    """Raises ChannelPayloadInvalid for what is no JSON object in UTF-8. Its texts are plain."""
    if len(body) > MOST_BYTES:
        raise _refused(f"has more than {MOST_BYTES} bytes")
    try:
        read = read_strictly(body, most_depth=MOST_DEPTH, encoding="utf-8-sig")
    except NotStrictJson as fault:
        raise _refused(fault.reason) from None
    if not isinstance(read, dict):
        raise _refused("must be a JSON object")
    plain_read: dict[str, Any] = plain(read, "")
    return plain_read


def _refused(reason: str) -> ChannelPayloadInvalid:
    return ChannelPayloadInvalid(f"The body {reason}.", details=[{"pointer": "", "message": reason}])
