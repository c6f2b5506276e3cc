"""When two names mean the same thing, and two contents say the same."""

import hashlib
import re
import unicodedata

from turnkeeper.model.unit import Unit

HASH_RECIPE = "1"
_ARTICLE = re.compile(r"^(?:the|an?|our|my|your|this|that)\s+")
_EDGES = " \t\n.,;:!?\"'()[]"


def name_key(name: str) -> str:
    """The same for two ways to write one name: case, spaces, edges and a leading article do not count."""
    text = collapsed(name).strip(_EDGES)
    return _ARTICLE.sub("", text)


def collapsed(text: str) -> str:
    """Text as it is compared: NFKC, case folded, white space in one."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def content_hash(unit: Unit) -> str:
    """The same for two units that say the same: ids, provenance and times do not count. Begins with its recipe."""
    triple = [name_key(part or "") for part in (unit.subject, unit.object)]
    parts = (
        unit.role.value,
        name_key(unit.topic),
        collapsed(unit.content).rstrip(" .!"),
        collapsed(unit.condition or ""),
        triple[0],
        unit.relation.value if unit.relation else "",
        triple[1],
        ",".join(sorted(unit.phase_scopes)),
    )
    digest = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
    return f"{HASH_RECIPE}:{digest}"
