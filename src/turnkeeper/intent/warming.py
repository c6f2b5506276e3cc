"""Loading what reads messages before the first message waits for it."""

from datetime import UTC, datetime

from turnkeeper.intent.extracting import read_answers
from turnkeeper.intent.scoring import score
from turnkeeper.model.pack import UNKNOWN, Pack
from turnkeeper.model.resolution import ResolveInput

SAMPLE = "hello, tomorrow at half past seven, for 2, +44 20 7946 0018"
_A_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def warm_up(pack: Pack) -> None:
    """Takes a quarter of a second for the first pack of a process, so it is done in a thread."""
    score(ResolveInput(text=SAMPLE, intents=pack.intents, current=UNKNOWN))
    for schema in pack.schemas.values():
        read_answers(
            SAMPLE, schema, {}, asked=None, confirming=False, now=_A_DAY, region=pack.region, locale=pack.locales[0]
        )
