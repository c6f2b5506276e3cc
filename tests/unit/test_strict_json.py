"""JSON that can be read in two ways is read by nobody, whichever door it comes to."""

import pytest

from turnkeeper.channels.json_bodies import read_object
from turnkeeper.errors import ChannelPayloadInvalid, MalformedJson
from turnkeeper.server.strict_json import read_json

DEEP = b'{"a":' * 65 + b"1" + b"}" * 65


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"a": 1, "a": 2}', "has the same key twice in one object"),
        (b'{"a": NaN}', "has NaN, which is not a JSON number"),
        (b'{"a": 9223372036854775808}', "has a whole number that does not fit into 64 bits"),
        (b'{"a": 1e999}', "has a number that is too large"),
        (b'{"a": "\xff"}', "is not UTF-8 at byte 7"),
        (b'{"a": }', "is not JSON at line 1, column 7"),
        (DEEP, "is nested more than 64 levels deep"),
    ],
)
def test_both_doors_refuse_the_same_in_the_same_words(body: bytes, reason: str) -> None:
    with pytest.raises(ChannelPayloadInvalid, match=f"The body {reason}"):
        read_object(body)
    with pytest.raises(MalformedJson, match=f"The body {reason}"):
        read_json(body, most_depth=64)


def test_only_a_gateway_may_begin_with_a_mark_of_the_byte_order() -> None:
    body = b'\xef\xbb\xbf{"a": 1}'

    assert read_object(body) == {"a": 1}
    with pytest.raises(MalformedJson):
        read_json(body, most_depth=64)
