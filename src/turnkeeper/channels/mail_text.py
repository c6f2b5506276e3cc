"""The words that a mail brings: out of any charset, without the mail that it answers and without a signature."""

import codecs
import re
from dataclasses import dataclass

# What senders call a charset, and what they mean by it. Wider ones take the place of those that mail clients overrun.
_MEANT = {
    "ascii": "utf-8",
    "us-ascii": "utf-8",
    "ansi_x3.4-1968": "utf-8",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "shift_jis": "cp932",
    "iso-8859-8-i": "iso-8859-8",
    "cp-850": "cp850",
    "utf8mb4": "utf-8",
}
# These are no charsets of mail, and some take time in the square of the length.
_NO_CHARSETS = frozenset(("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"))

_MOST_LINE = 1_000
_ATTRIBUTION = re.compile(
    r"(?:On\b.{0,300}\bwrote|Am\b.{0,300}\bschrieb\b.{0,200}|Le\b.{0,300}\ba écrit|El\b.{0,300}\bescribió"
    r"|Il\b.{0,300}\bha scritto|Op\b.{0,300}\bschreef\b.{0,200}|Em\b.{0,300}\bescreveu"
    r"|.{0,200}<[^<>\s@]{1,64}@[^<>\s@]{1,200}>.{0,60}\b(?:wrote|schrieb|a écrit|escribió))\s?:\s*"
)
_ATTRIBUTION_BEGINS = re.compile(r"(?:On|Am|Le|El|Il|Op|Em)\b.{5,}")
_ORIGINAL = re.compile(
    r"-{2,}\s?(?:Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original|Messaggio originale)"
    r"\s?-{2,}\s*",
    re.IGNORECASE,
)
_FROM = re.compile(r"\*?(?:From|Von|De|Da|Van)\s?:\*?\s.{1,500}")
_SENT = re.compile(
    r"\*?(?:Sent|Date|Gesendet|Datum|Envoyé|Date|Enviado(?: el)?|Fecha|Inviato|Verzonden)\s?:\*?\s.{1,300}"
)
_SIGNATURE = re.compile(r"-- ?")
_DEVICE = re.compile(
    r"(?:Sent from my|Sent from Outlook|Get Outlook for|Von meinem|Envoyé de mon|Enviado desde mi)\b.{0,100}"
)
_FORWARD = re.compile(r"\s*(?:fwd?|wg|tr|rv|i)\s?:", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """`text` is what the sender wrote now, `has_quote` and `has_signature` say what was left out of it."""

    text: str
    has_quote: bool = False
    has_signature: bool = False


def decoded(content: bytes, charset: str | None) -> str:
    """Never fails: an unknown or wrong charset is read as UTF-8, or else as Western European."""
    for name in (_codec(charset), "utf-8", "cp1252"):
        if name is None:
            continue
        try:
            return content.decode(name)
        except (UnicodeError, LookupError, ValueError):
            continue
    return content.decode("latin-1")


def unflowed(text: str, *, delete_space: bool) -> str:
    """Lines that only the width of a screen has broken are joined again (RFC 3676)."""
    lines: list[list[str]] = []
    is_open, open_depth = False, 0
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        content = line[depth:].removeprefix(" ")
        continues = is_open and depth == open_depth and content != "-- "
        is_open, open_depth = content.endswith(" ") and content != "-- ", depth
        written = content[:-1] if is_open and delete_space else content
        if continues:
            lines[-1].append(written)
        else:
            lines.append([f"{'>' * depth}{' ' if depth else ''}{written}"])
    return "\n".join("".join(pieces) for pieces in lines)


def new_words(text: str, *, subject: str) -> Words:
    """What is new in a mail. A mail that is nothing but quote or signature is kept whole."""
    lines = text.split("\n")
    end = len(lines)
    if not _FORWARD.match(subject):
        end = _end_before_original(lines)
    kept, has_quote = _unquoted(lines[:end])
    has_quote = has_quote or end < len(lines)
    without = _unsigned(kept)
    new = _trimmed(without)
    if not new:
        return Words(text=_trimmed(lines))
    return Words(text=new, has_quote=has_quote, has_signature=len(without) < len(kept))


def _codec(charset: str | None) -> str | None:
    wanted = (charset or "utf-8").strip().strip("\"'").lower()[:40]
    wanted = _MEANT.get(wanted, wanted)
    try:
        name = codecs.lookup(wanted).name
    except (LookupError, ValueError):
        return None
    return None if name.replace("-", "_") in _NO_CHARSETS else name


def _end_before_original(lines: list[str]) -> int:
    """Where a client has put the whole earlier mail below, unquoted, behind a line or a block of its headers."""
    for number, line in enumerate(lines):
        if len(line) > _MOST_LINE:
            continue
        if _ORIGINAL.fullmatch(line.strip()):
            return number
        if _FROM.fullmatch(line) and any(
            _SENT.fullmatch(below[:_MOST_LINE]) for below in lines[number + 1 : number + 4]
        ):
            above = number
            while above and (not lines[above - 1].strip() or not lines[above - 1].strip("_- ")):
                above -= 1
            return above
    return len(lines)


def _unquoted(lines: list[str]) -> tuple[list[str], bool]:
    """Without quoted lines and the line that says whom they quote."""
    quoted = [line.lstrip().startswith(">") for line in lines]
    if not any(quoted):
        return lines, False
    drop = list(quoted)
    for number, is_quoted in enumerate(quoted):
        if not is_quoted or (number and quoted[number - 1]):
            continue
        above = number - 1
        while above >= 0 and number - above < 4 and not lines[above].strip():
            above -= 1
        if above >= 0:
            _drop_attribution(lines, above, drop)
    return [line for line, is_dropped in zip(lines, drop, strict=True) if not is_dropped], True


def _drop_attribution(lines: list[str], last: int, drop: list[bool]) -> None:
    if drop[last] or len(lines[last]) > _MOST_LINE:
        return
    if _ATTRIBUTION.fullmatch(lines[last].strip()):
        drop[last] = True
        return
    # Clients break it over two lines when the address is long.
    first = last - 1
    if first >= 0 and not drop[first] and _ATTRIBUTION_BEGINS.match(lines[first].strip()):
        both = f"{lines[first].strip()} {lines[last].strip()}"
        if len(both) <= _MOST_LINE and _ATTRIBUTION.fullmatch(both):
            drop[first] = drop[last] = True


def _unsigned(lines: list[str]) -> list[str]:
    for number, line in enumerate(lines):
        if _SIGNATURE.fullmatch(line):
            return lines[:number]
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    if end and len(lines[end - 1]) <= _MOST_LINE and _DEVICE.fullmatch(lines[end - 1].strip()):
        return lines[: end - 1]
    return lines


def _trimmed(lines: list[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).strip()
