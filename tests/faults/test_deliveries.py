"""kill -9 of whoever sends a reply, after it was handed over and before that was written down."""

import contextlib
import sqlite3
from typing import Any

import asyncpg

from tests.eventually import eventually
from tests.faults.process import a_worker
from tests.faults.soundness import AFTERWARDS
from tests.story.postmen import MailServer, a_mail_server
from turnkeeper import Settings, Turnkeeper
from turnkeeper.model.outbound import Delivery, DeliveryStatus


async def test_a_mail_whose_sender_was_killed_is_unknown_and_is_not_sent_again_by_itself(address: str) -> None:
    async with a_mail_server() as server:
        await _killed_while_sending(address, server, "settle_delivery:begun")
        await _let_the_claim_run_out(address)

        delivery = await _settled(address, server)
        assert (delivery.status, delivery.attempts) == (DeliveryStatus.UNKNOWN, 2)
        assert "is gone" in (delivery.error or "")

    assert [mail["Message-ID"] for mail in server.mails] == [f"<{delivery.id}@example.net>"]


async def test_a_mail_whose_sender_was_killed_before_it_claimed_it_goes_out_once(address: str) -> None:
    async with a_mail_server() as server:
        await _killed_while_sending(address, server, "claim_deliveries:begun")

        delivery = await _settled(address, server)
        assert (delivery.status, delivery.attempts) == (DeliveryStatus.SENT, 1)

    assert len(server.mails) == 1


def _mailing(server: MailServer) -> dict[str, Any]:
    return {"smtp_url": server.url, "mail_from": "desk@example.net"}


async def _killed_while_sending(address: str, server: MailServer, moment: str) -> None:
    settings = {f"TURNKEEPER_{name.upper()}": value for name, value in _mailing(server).items()}
    async with a_worker(address, stop_at=moment, **settings) as worker:
        await worker.line("ready")
        worker.tell("mail")
        await worker.line("stopped_at")
        await worker.kill()


async def _settled(address: str, server: MailServer) -> Delivery:
    """What the next process makes of the only delivery there is."""
    async with Turnkeeper.open(settings=Settings(database=address, **AFTERWARDS, **_mailing(server))) as keeper:  # type: ignore[arg-type]

        async def is_over() -> bool:
            [delivery] = await keeper.deliveries.list()
            return delivery.ended_at is not None

        await eventually(is_over)
        [delivery] = await keeper.deliveries.list()
        return delivery


async def _let_the_claim_run_out(address: str) -> None:
    statement = "UPDATE outbox SET due_at = 0 WHERE status = 'sending'"
    if address.startswith("postgres"):
        connection = await asyncpg.connect(address)
        await connection.execute(statement)
        await connection.close()
        return
    with contextlib.closing(sqlite3.connect(address, isolation_level=None)) as file:
        file.execute(statement)
