"""What is said in the states of a pack, as its files under `responses` say it."""

from collections.abc import Iterator
from dataclasses import dataclass

from turnkeeper.model.pack import ANY, Response
from turnkeeper.packs.faults import PackFaultCode
from turnkeeper.packs.intents import CODE
from turnkeeper.packs.manifest import LOCALE, LOCALE_REMEDY
from turnkeeper.packs.parts import Part

KEYS = ("intent", "state", "text", "agent", "hint", "locale")

_CODE_REMEDY = "Write the code of one in capitals, as in BOOK_TABLE, or ANY."


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenResponse:
    response: Response
    part: Part


def read_responses(part: Part) -> Iterator[WrittenResponse]:
    for each in part.items():
        fields = each.fields(KEYS)
        response = _response(each, fields) if isinstance(each.value, dict) else None
        if response:
            yield WrittenResponse(response=response, part=each)


def _response(part: Part, fields: dict[str, Part]) -> Response | None:
    """None where it cannot be told for which intent and state it is: nothing else can be held against that."""
    text = fields["text"].text() if "text" in fields else None
    hint = fields["hint"].text() if "hint" in fields else None
    to_agent = fields["agent"].truth() if "agent" in fields else False
    _check_who_speaks(part, fields, to_agent=bool(to_agent))
    locale = fields["locale"].name(LOCALE, LOCALE_REMEDY) if "locale" in fields else None
    intent, state = _code(fields, "intent"), _code(fields, "state")
    if intent is None or state is None:
        return None
    return Response(
        intent=intent,
        state=state,
        text=text,
        hint=hint,
        locale=locale,
    )


def _code(fields: dict[str, Part], key: str) -> str | None:
    return fields[key].name(CODE, _CODE_REMEDY, PackFaultCode.UNFIT_CODE) if key in fields else ANY


def _check_who_speaks(part: Part, fields: dict[str, Part], *, to_agent: bool) -> None:
    if "text" in fields and to_agent:
        message = "This has a text and is handed to the agent. Keep `text`, or keep `agent: true`."
        fields["agent"].refuse(PackFaultCode.UNFIT_RESPONSE, message)
    elif "text" not in fields and not to_agent:
        message = "Nobody speaks here. Write `text: ...`, or `agent: true` to hand it to the agent."
        part.refuse(PackFaultCode.UNFIT_RESPONSE, message)
    elif "hint" in fields and not to_agent:
        message = "A hint is for the agent, and this is an exact text. Take it away, or write `agent: true`."
        fields["hint"].refuse(PackFaultCode.UNFIT_RESPONSE, message)
