"""Which channels there are: six, those that are installed, and those that a program adds."""

import logging
import sys
from pathlib import Path

import pytest

from turnkeeper.channels.registry import ChannelRegistry
from turnkeeper.channels.voice import VoiceChannel
from turnkeeper.ports.channels import Channels

BUILT_IN = ("api", "app_chat", "email", "sms", "voice", "webhook")

PIGEON = """
from turnkeeper.model.event import Event
from turnkeeper.ports.channels import Arrival, Said

class Pigeon:
    name = "pigeon"
    def read(self, raw, terms, *, now):
        return Arrival(address="loft", said=Said(message=raw.body.decode()))
    def normalize(self, said):
        return Event(text=said.message)

class Impostor(Pigeon):
    name = "email"

class Mute:
    name = "mute"

class Shouting(Pigeon):
    name = "PIGEON"

def broken():
    raise SystemExit(3)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that offers channels, as pip would have put it there."""
    (tmp_path / "pigeon_post.py").write_text(PIGEON)
    facts = tmp_path / "pigeon_post-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: pigeon-post\nVersion: 1.0\n")
    offered = ["a = pigeon_post:broken", "b = pigeon_post:Impostor", "c = pigeon_post:Mute", "d = pigeon_post:missing"]
    offered += ["e = no_such_module:x", "f = pigeon_post:Pigeon", "g = pigeon_post:Shouting"]
    (facts / "entry_points.txt").write_text("[turnkeeper.channels]\n" + "\n".join(offered) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pigeon_post", raising=False)


def test_six_channels_are_built_in() -> None:
    registry: Channels = ChannelRegistry()

    assert registry.names() == BUILT_IN
    assert [channel.name for name in BUILT_IN if (channel := registry.get(name))] == list(BUILT_IN)
    assert registry.get("pigeon") is None


@pytest.mark.usefixtures("installed")
def test_an_installed_channel_is_found_and_broken_ones_are_named(caplog: pytest.LogCaptureFixture) -> None:
    registry = ChannelRegistry()

    with caplog.at_level(logging.WARNING):
        names = registry.names()

    assert names == tuple(sorted((*BUILT_IN, "pigeon")))
    assert type(registry.get("email")).__name__ == "EmailChannel"
    assert [vars(record)["entry_point"] for record in caplog.records] == ["a", "b", "c", "d", "e", "g"]
    assert {record.getMessage() for record in caplog.records} == {"a channel of pigeon-post could not be loaded"}


@pytest.mark.usefixtures("installed")
def test_nobody_looks_for_installed_channels_before_one_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    registry = ChannelRegistry()
    assert "pigeon_post" not in sys.modules

    registry.get("pigeon")
    registry.get("pigeon")

    assert "pigeon_post" in sys.modules
    assert len(caplog.records) == 6


def test_a_program_may_add_a_channel_or_take_the_place_of_one() -> None:
    registry = ChannelRegistry()
    strict = VoiceChannel(mean_below=0.99)

    registry.add(strict)

    assert registry.get("voice") is strict


def test_what_is_no_channel_cannot_be_added() -> None:
    class Mute:
        name = "mute"

    with pytest.raises(ValueError, match="no channel"):
        ChannelRegistry().add(Mute())  # type: ignore[arg-type]
