"""The channels that are known in this process: those built in, those that others install, and those that are added."""

import logging
import re
from importlib.metadata import EntryPoint, entry_points

from turnkeeper.channels.api import ApiChannel
from turnkeeper.channels.app_chat import AppChatChannel
from turnkeeper.channels.email import EmailChannel
from turnkeeper.channels.sms import SmsChannel
from turnkeeper.channels.voice import VoiceChannel
from turnkeeper.channels.webhook import WebhookChannel
from turnkeeper.ports.channels import ENTRY_POINTS, Channel

log = logging.getLogger(__name__)

_NAME = re.compile("[a-z][a-z0-9_-]{0,63}")


class ChannelRegistry:
    """Looks for installed channels when it is first asked, and not before."""

    def __init__(self) -> None:
        built_in: tuple[Channel, ...] = (
            AppChatChannel(),
            EmailChannel(),
            VoiceChannel(),
            ApiChannel(),
            WebhookChannel(),
            SmsChannel(),
        )
        self._channels = {channel.name: channel for channel in built_in}
        self._is_complete = False

    def get(self, name: str) -> Channel | None:
        return self._known().get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._known()))

    def add(self, channel: Channel) -> None:
        """Takes the place of a channel of the same name, also of one that is built in. Raises ValueError."""
        self._channels[_name_of(channel)] = channel

    def _known(self) -> dict[str, Channel]:
        if not self._is_complete:
            self._is_complete = True
            for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: (entry.name, entry.value)):
                self._take(entry)
        return self._channels

    def _take(self, entry: EntryPoint) -> None:
        """One that fails is named in a warning and passed over; it never takes the place of another."""
        try:
            channel: Channel = entry.load()()
            name = _name_of(channel)
            if name in self._channels:
                raise ValueError(f"there is a channel {name!r} already")
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            distribution = entry.dist.name if entry.dist else "unknown"
            log.warning(
                "a channel of %s could not be loaded",
                distribution,
                extra={"entry_point": entry.name, "kind": type(error).__name__, "reason": str(error)},
            )
        else:
            self._channels[name] = channel


def _name_of(channel: Channel) -> str:
    name = getattr(channel, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("the name of a channel is up to 64 of a-z, 0-9, _ and -, and begins with a letter")
    if not callable(getattr(channel, "read", None)) or not callable(getattr(channel, "normalize", None)):
        raise ValueError(f"{name!r} is no channel: it must be able to read and to normalize")
    return name
