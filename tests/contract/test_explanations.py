"""What a store promises about Explanations: lean rows, summaries, and one beside what was said."""

import json

from tests.contract.backends import Backend
from tests.contract.builders import (
    TENANT,
    a_kept_session,
    a_unit,
    accept,
    end_as,
    exchange,
    explanation_of,
    held,
    knowing,
    run_of,
    supersede,
    waiting,
)
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.explanation import ExplainedRun
from turnkeeper.model.run import RunStatus
from turnkeeper.ports.store import Store

SAID = {"run_id", "session_id", "status", "at", "stages"}


async def test_however_a_run_ends_only_what_its_explanation_says_is_written(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome")
    await knowing(store, session, a_unit("The port is 80."))
    failed, lease = await held(store, "Break, please", session)
    await store.runs.end(lease, end_as(failed, RunStatus.FAILED))
    running, lease = await held(store, "First", session)
    newcomer = (await accept(store, "Second", session)).run
    await supersede(store, lease, newcomer, DoubleText.ROLLBACK, explanation_of(running, RunStatus.SUPERSEDED))

    rows = [json.loads(row[0]) for row in await backend.execute("SELECT data FROM explanations")]

    assert [row.keys() for row in rows] == [SAID] * 4
    assert [row["stages"] for row in rows] == [[{"name": "open_session", "began_us": 0, "took_us": 5}]] * 4


async def test_a_summary_is_the_explanation_in_short(store: Store) -> None:
    session = await a_kept_session(store)
    runs = [await exchange(store, session, f"Question {number}", "Answer") for number in range(3)]

    page = await store.explanations.summaries(TENANT, session.id, before=None, limit=2)
    rest = await store.explanations.summaries(TENANT, session.id, before=runs[1].id, limit=2)

    listed = await store.explanations.list(TENANT, session.id, before=None, limit=3)
    assert [*page, *rest] == [
        ExplainedRun(explanation=each.explanation.summary, asked=each.asked, preview=each.preview) for each in listed
    ]


async def test_one_run_is_explained_beside_what_was_said(store: Store) -> None:
    session = await a_kept_session(store)
    first = await exchange(store, session, "Hello", "Welcome")
    failed, lease = await held(store, "Break, please", session)
    await store.runs.end(lease, end_as(failed, RunStatus.FAILED))
    open_run = await waiting(store, session)

    told = await store.explanations.explained(await run_of(store, first))
    of_failed = await store.explanations.explained(await run_of(store, failed))

    assert told == ExplainedRun(explanation=explanation_of(first), asked="Hello", preview="Welcome")
    assert of_failed is not None
    assert (of_failed.asked, of_failed.preview) == ("Break, please", "")
    assert await store.explanations.explained(open_run) is None
