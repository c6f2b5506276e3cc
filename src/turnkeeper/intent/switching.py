"""Going from one intent to another without losing what was said in either."""

from dataclasses import replace

from turnkeeper.intent.collecting import carried_over
from turnkeeper.intent.walking import is_done, schema_at
from turnkeeper.model.dialogue import Dialogue, Form
from turnkeeper.model.pack import UNKNOWN, Intent, OnLeave, Pack


def entered(pack: Pack, dialogue: Dialogue, intent: Intent, state: str | None = None) -> Dialogue:
    """The session at this intent: from its beginning, or from where it was left.

    An intent that is under way stays as it is; one that is done begins anew.
    """
    if dialogue.intent == intent.code and not is_done(pack, dialogue):
        return dialogue
    forms = shelved(pack, dialogue)
    waiting = forms.pop(intent.code, None)
    if waiting is not None and intent.state(waiting.state) is None:
        waiting = None
    begun = Form(state=state or intent.first_state, fields={})
    form = waiting or begun
    schema = schema_at(pack, intent, form.state)
    fields = dict(form.fields)
    if schema is not None and intent.carries:
        fields = {**carried_over(schema, dialogue.context, intent.carries), **fields}
    return replace(dialogue, intent=intent.code, state=form.state, context=fields, forms=forms, asked=None, lock=None)


def shelved(pack: Pack, dialogue: Dialogue) -> dict[str, Form]:
    """The forms that wait, with the one that is left now: when it has answers, is not done, and its pack keeps it."""
    forms = dict(dialogue.forms)
    left = pack.intent(dialogue.intent)
    if left is not None and dialogue.context and left.on_leave is OnLeave.KEEP and not is_done(pack, dialogue):
        forms[left.code] = Form(state=dialogue.state, fields=dialogue.context)
    return forms


def fitting(pack: Pack, dialogue: Dialogue) -> Dialogue:
    """The session as this pack can understand it: after another one was pinned, an intent or a state may be gone."""
    forms = {code: form for code, form in dialogue.forms.items() if _has(pack, code, form.state)}
    if dialogue.intent == UNKNOWN or _has(pack, dialogue.intent, dialogue.state):
        return dialogue if len(forms) == len(dialogue.forms) else replace(dialogue, forms=forms)
    return Dialogue(params=dialogue.params, forms=forms)


def _has(pack: Pack, code: str, state: str) -> bool:
    intent = pack.intent(code)
    return intent is not None and intent.state(state) is not None
