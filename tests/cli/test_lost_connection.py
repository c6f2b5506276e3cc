"""Whoever talks at a terminal does not notice a connection that is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import an_engine
from tests.client.cutting import a_wire
from tests.client.house import TOKEN, served
from turnkeeper.cli.talk import HttpTalk, TalkFailed


def heard(url: str, token: str = TOKEN) -> list[Any]:
    def frames() -> Iterator[Any]:
        with HttpTalk(url, token) as talk:
            yield from talk.say("ode", agent="poet", session_id=None)

    return list(frames())


async def test_an_answer_is_heard_to_its_end_over_a_line_that_is_cut(tmp_path: Path) -> None:
    async with an_engine(tmp_path) as engine, served(engine) as url, a_wire(url, cuts=0, most_bytes=1, seed=1) as wire:
        whole = await asyncio.to_thread(heard, wire.url)
        # The first connection is asked whether anybody is there; the others carry the answer.
        wire.cuts, wire.most_bytes = 3, 4_000

        cut = await asyncio.to_thread(heard, wire.url)

        assert cut[-1]["data"]["text"] == whole[-1]["data"]["text"]
        assert cut[0]["session_id"] != whole[0]["session_id"]
        assert wire.made == 3
        assert len(await engine.runs(cut[0]["session_id"])) == 1


async def test_a_token_that_is_not_known_ends_the_sitting(tmp_path: Path) -> None:
    async with an_engine(tmp_path) as engine, served(engine) as url:
        with pytest.raises(TalkFailed) as refused:
            await asyncio.to_thread(heard, url, "another-token")

    assert refused.value.is_fatal
