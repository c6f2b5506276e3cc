"""What an error says of something made up, so that an example of it speaks in its own words."""

import inspect
from collections.abc import Mapping
from enum import Enum
from typing import Any, NewType, get_args, get_origin, get_type_hints

from turnkeeper.errors import TurnkeeperError
from turnkeeper.server.examples import BY_NAME

FAULT = {"pointer": "/message", "message": "must be a text", **{name: BY_NAME[name] for name in ("path", "sha256")}}
WORDS: Mapping[str, Any] = {
    "allowed": "GET, HEAD, POST",
    "accepted": "app_chat",
    "asked": "exploratory",
    "cause": "connection refused",
    "extra": "bus",
    "id": "proj_01M7HYQ45AH2J4K6M8N0P2Q4R6",
    "inherited": "regulated",
    "intent": "BOOK_TABLE",
    "known": "symbolic",
    "key_id": "key_01M7HYQ4AFW7X9Y1Z3A5B7C9D1",
    "level": "project",
    "library": "websockets",
    "pinned": "table-booking@1.0.0",
    "places": "/message",
    "pointer": "report",
    "quota": "sessions",
    "reason": "it was changed on its way",
    "requested": "table-booking@1.1.0",
    "said": "was changed on its way",
    "state": "busy with another message",
    "status": "closed",
    "why": "nothing here can keep it apart",
}


def text_of(kind: type[TurnkeeperError]) -> str:
    """Where an error is told in the words of whoever raises it, its title has to do."""
    hints = get_type_hints(kind.__init__)
    needed = [
        parameter
        for parameter in list(inspect.signature(kind.__init__).parameters.values())[1:]
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    said = {each.name: _made_up(each.name, hints[each.name]) for each in needed}
    if "detail" in said or None in said.values():
        return f"{kind.title}. The detail says which one it is, and what to do next."
    return kind(**said).detail


def _made_up(name: str, hint: Any) -> Any:
    """Something of this type, or None where it would take more than that."""
    if isinstance(hint, NewType):
        hint = hint.__supertype__
    if get_origin(hint) is not None:
        return _one_of_many(name, hint)
    if hint in (int, float):
        return hint(3)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    if hint is str:
        word = WORDS.get(name, BY_NAME.get(name, name))
        return word if isinstance(word, str) else name
    return None


def _one_of_many(name: str, hint: Any) -> Any:
    inner = get_args(hint)[0]
    if type(None) in get_args(hint):
        return _made_up(name, inner)
    if get_origin(inner) is Mapping:
        return [FAULT]
    if get_origin(inner) is tuple:
        return [tuple(_made_up(name, part) for part in get_args(inner))]
    return [_made_up(name.removesuffix("s"), inner)]
