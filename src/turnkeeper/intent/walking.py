"""How far an intent has come among its states, and what moves it on."""

from dataclasses import replace

from turnkeeper.intent.collecting import progress
from turnkeeper.intent.extracting import Wish
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.pack import Intent, JsonSchema, Pack


def schema_at(pack: Pack, intent: Intent, state: str) -> JsonSchema | None:
    """What is collected in a state. A state that confirms looks at the answers of the one before it."""
    at = intent.state(state)
    while at is not None:
        schema = pack.schema(intent.code, at.code)
        if schema is not None or not at.confirms:
            return schema
        at = intent.state_before(at.code)
    return None


def is_done(pack: Pack, dialogue: Dialogue) -> bool:
    """Whether an intent has come to its last state, with nothing missing there."""
    intent = pack.intent(dialogue.intent)
    if intent is None or intent.state_after(dialogue.state) is not None:
        return False
    schema = schema_at(pack, intent, dialogue.state)
    return schema is None or progress(schema, dialogue.context).complete


def is_confirming(pack: Pack, dialogue: Dialogue) -> bool:
    intent = pack.intent(dialogue.intent)
    state = intent.state(dialogue.state) if intent else None
    return state is not None and state.confirms


def advanced(pack: Pack, intent: Intent, dialogue: Dialogue, wish: Wish | None) -> Dialogue:
    """The session in the first state that holds it: because a field is missing, a yes is, or it is the last one.

    A no, and a field that was taken back, lead back to where the answers are given.
    """
    is_incomplete = _is_incomplete(pack, intent, dialogue.state, dialogue)
    if is_confirming(pack, dialogue) and (wish is not Wish.YES or is_incomplete):
        return _taken_back(intent, dialogue, must_go_back=is_incomplete or wish is Wish.NO)
    code, is_confirmed = dialogue.state, is_confirming(pack, dialogue)
    while (following := intent.state_after(code)) is not None:
        state = intent.state(code)
        if state is None or (state.confirms and not is_confirmed) or _is_incomplete(pack, intent, code, dialogue):
            break
        code, is_confirmed = following.code, False
    return replace(dialogue, state=code)


def _taken_back(intent: Intent, dialogue: Dialogue, *, must_go_back: bool) -> Dialogue:
    before = intent.state_before(dialogue.state)
    return replace(dialogue, state=before.code) if before and must_go_back else dialogue


def _is_incomplete(pack: Pack, intent: Intent, state: str, dialogue: Dialogue) -> bool:
    schema = schema_at(pack, intent, state)
    return schema is not None and not progress(schema, dialogue.context).complete
