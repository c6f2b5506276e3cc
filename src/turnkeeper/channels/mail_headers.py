"""What the headers of a mail tell: who, in which thread, whether a machine wrote it, whether the sender is proven.

Facts: RFC 5322 (fields), RFC 2047 (encoded words), RFC 3834 (automatic responses), RFC 2369 and 2919 (lists), RFC 8601
(Authentication-Results).
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC
from email.errors import HeaderParseError
from email.header import decode_header
from email.utils import getaddresses, parsedate_to_datetime
from typing import Any

from turnkeeper.channels.mail_text import decoded
from turnkeeper.channels.plain import plain_text

MOST_HEADER = 4_000
MOST_REFERENCES = 100
_ID = re.compile(r"<[^<>\s\x00-\x1f\x7f]{1,250}>")
_FOLD = re.compile(r"[ \t]*[\r\n]+[ \t]*")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_ADDRESS = re.compile(r"[^\s@<>\"(),:;\\\x00-\x1f]{1,64}@[^\s@<>\"(),:;\\\x00-\x1f\[\]]{1,255}")
_COMMENT = re.compile(r"\([^()]{0,500}\)")
_RESULT = re.compile(r"\s*(dkim|spf|dmarc)\s*=\s*([a-z]{1,20})\b(.{0,1000})", re.IGNORECASE)
_PROPERTY = re.compile(r"\b(header\.d|header\.i|header\.from|smtp\.mailfrom)\s*=\s*\"?([^\s\";]{1,320})", re.IGNORECASE)
_BOUNCERS = frozenset(("mailer-daemon", "postmaster"))
_BULK = frozenset(("bulk", "junk", "list", "auto_reply"))


class Headers:
    """The headers by lower-case name; of very long ones the beginning, and of references the newest, at the end."""

    def __init__(self, items: Iterable[tuple[str, Any]]) -> None:
        self._values: dict[str, list[str]] = {}
        for written, value in items:
            name = str(written).strip().lower()
            kept = str(value)[-MOST_HEADER:] if name == "references" else str(value)[:MOST_HEADER]
            self._values.setdefault(name, []).append(kept)

    def first(self, name: str) -> str | None:
        values = self._values.get(name)
        return _unfolded(values[0]) if values else None

    def words(self, name: str) -> str:
        """For people: encoded words are decoded."""
        return _decoded_words(self.first(name) or "")

    def every(self, name: str) -> Sequence[str]:
        return [_unfolded(value) for value in self._values.get(name, ())[:50]]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def ids(self, name: str) -> tuple[str, ...]:
        """Message ids, the newest ones of very many."""
        found = [match for value in self.every(name) for match in _ID.findall(value)]
        return tuple(dict.fromkeys(plain_text(each) for each in found))[-MOST_REFERENCES:]

    def addresses(self, name: str) -> tuple[str, ...]:
        found = getaddresses([value[:2_000] for value in self.every(name)[:5]])
        return tuple(plain_text(address) for _, address in found if _ADDRESS.fullmatch(address))


def sender_of(headers: Headers) -> str | None:
    """Its address, as written: of several authors the one who has sent it."""
    authors = headers.addresses("from")
    senders = headers.addresses("sender")
    if len(authors) > 1 and senders:
        return senders[0]
    return authors[0] if authors else None


def date_of(headers: Headers) -> str | None:
    """In UTC as of ISO 8601; what is no date stays as it is."""
    written = headers.first("date")
    if not written:
        return None
    try:
        moment = parsedate_to_datetime(written)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return plain_text(written)


def why_automatic(headers: Headers, *, content_type: str, sender: str) -> str | None:
    """Which machine wrote this, if one did: `bounce`, `auto_replied`, `auto_generated` or `mailing_list`."""
    submitted = (headers.first("auto-submitted") or "no").partition(";")[0].strip().lower()
    precedence = (headers.first("precedence") or "").strip().lower()
    if (
        headers.first("return-path") == "<>"
        or content_type == "multipart/report"
        or sender.partition("@")[0].lower() in _BOUNCERS
    ):
        return "bounce"
    says_so = "x-autoreply" in headers or "x-autorespond" in headers
    if submitted == "auto-replied" or precedence == "auto_reply" or says_so:
        return "auto_replied"
    if submitted != "no":
        return "auto_generated"
    if "list-id" in headers or "list-post" in headers or "list-unsubscribe" in headers or precedence in _BULK:
        return "mailing_list"
    return None


def authentication(headers: Headers, *, trusted: str, sender_domain: str) -> dict[str, Any]:
    """What the trusted server found, and whether it proves that the mail is of the domain of its sender.

    A signature of another domain proves nothing about this one.
    """
    found: dict[str, Any] = {}
    verified = False
    for value in headers.every("authentication-results"):
        bare = _COMMENT.sub(" ", value)
        server, _, results = bare.partition(";")
        if server.lower().split()[:1] != [trusted.lower()]:
            continue
        for result in results.split(";"):
            if not (match := _RESULT.match(result)):
                continue
            method, outcome = match[1].lower(), match[2].lower()
            found.setdefault(method, outcome)
            domains = [_domain(proven) for _, proven in _PROPERTY.findall(match[3])]
            if outcome == "pass" and any(_is_aligned(domain, sender_domain) for domain in domains):
                verified = True
        # Those further down may have been there before the server saw the mail.
        break
    return {**found, "verified": verified}


def _unfolded(value: str) -> str:
    """On one line. Bytes that are no ASCII, which no header should have, are read as UTF-8 or Western European."""
    line = _FOLD.sub(" ", value).strip()
    return line if line.isascii() else decoded(line.encode("utf-8", errors="surrogateescape"), None)


def _decoded_words(value: str) -> str:
    try:
        pieces = decode_header(value)
    except (HeaderParseError, ValueError, AssertionError, LookupError):
        pieces = [(value, None)]
    read = "".join(_piece(piece, charset) for piece, charset in pieces)
    return _CONTROLS.sub(" ", plain_text(read)).strip()


def _piece(piece: str | bytes, charset: str | None) -> str:
    if isinstance(piece, str):
        return piece
    # What stands between encoded words comes back in Python's own escapes.
    return piece.decode("raw_unicode_escape", errors="replace") if charset is None else decoded(piece, charset)


def _domain(proven: str) -> str:
    return proven.rpartition("@")[2].lower().strip(".")


def _is_aligned(proven: str, sender_domain: str) -> bool:
    """The same, or one above the other; what stands right under a top-level domain is the least."""
    if not proven or "." not in proven:
        return False
    return sender_domain == proven or sender_domain.endswith(f".{proven}")
