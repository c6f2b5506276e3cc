"""Turn what a channel delivered into Events, the same shape on every channel."""

from turnkeeper.model.event import Event


def normalize(message: str) -> tuple[Event, ...]:
    return (Event(text=message),)
