"""Whether an intent is for this caller, on this channel."""

from turnkeeper.errors import ChannelNotAccepted, GrantMissing
from turnkeeper.model.pack import Intent
from turnkeeper.model.run import RunInput


def check_served(intent: Intent, wish: RunInput) -> None:
    """Raises ChannelNotAccepted or GrantMissing."""
    if intent.channels and wish.channel not in intent.channels:
        raise ChannelNotAccepted(intent.code, wish.channel, intent.channels)
    lacking = [] if wish.grants is None else [grant for grant in intent.grants if grant not in wish.grants]
    if lacking:
        raise GrantMissing(intent.code, lacking)
