"""Turn what a channel delivered into Events, the same shape on every channel."""

from turnkeeper.model.event import Attachment, Event


def normalize(message: str, attachments: tuple[Attachment, ...] = ()) -> tuple[Event, ...]:
    return (Event(text=message, attachments=attachments),)
