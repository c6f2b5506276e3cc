"""What is wrong with an answer, in words for the one who gave it. The answer itself is never repeated."""

from turnkeeper.intent.form import Field
from turnkeeper.intent.language import Language, language_of
from turnkeeper.intent.rendering import as_words


def in_words(field: Field | None, rule: str, language: Language | None = None) -> str:
    words = language or language_of()
    template = words.faults.get(rule, words.faults["other"])
    if field is None:
        return template
    holder = field.schema if rule in field.schema or field.item is None else field.item.schema
    told = {
        "field": words.inside_sentence(field.title),
        "limit": as_words(holder.get(rule)),
        "choices": as_words([field.labels_of(choice)[0] for choice in field.choices]),
    }
    for name, value in told.items():
        template = template.replace(f"{{{name}}}", value)
    return template
