"""Telling whoever asked what became of a run, wherever and whenever it ended."""

from collections.abc import AsyncIterator
from dataclasses import replace

from turnkeeper.errors import RunEnded
from turnkeeper.ledger.feed import LOOK_EVERY_SECONDS, PAGE, Feed
from turnkeeper.model.explanation import PREVIEW_CHARS, ExplainedRun, Explanation, explain_from_feed
from turnkeeper.model.feed import FeedEntry, FeedType
from turnkeeper.model.ids import RunId
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.ports.explanations import ExplanationStore
from turnkeeper.ports.feed import FeedStore
from turnkeeper.ports.runs import RunStore


class Outcomes:
    def __init__(self, runs: RunStore, explanations: ExplanationStore, entries: FeedStore, feed: Feed) -> None:
        self._runs, self._explanations, self._entries, self._feed = runs, explanations, entries, feed

    async def of(self, run: Run) -> Reply:
        """Wait for the end of a run. Raises RunEnded when that is no reply.

        A run that was merged or tried again is answered by the run that took its place.
        """
        with self._feed.listening(run.tenant, run.subject) as happened:
            while True:
                happened.clear()
                run = await self._runs.get(run.tenant, run.id)
                if not run.status.is_open or run.status is RunStatus.WAITING:
                    follower = self._follower(run)
                    if follower is None:
                        return await self.reply_of(run)
                    run = replace(run, id=follower)
                    continue
                await happened.wait(LOOK_EVERY_SECONDS)

    async def reply_of(self, run: Run) -> Reply:
        """The reply of a run that is at its end, or that waits for an answer. Raises RunEnded for every other end."""
        has_turn = run.turn is not None
        if run.status not in (RunStatus.COMPLETED, RunStatus.WAITING) and not has_turn:
            raise RunEnded(run)
        if run.status is RunStatus.WAITING:
            return await self._question_of(run)
        last = await self._last_word(run)
        explanation = await self._explanations.get(run) or explain_from_feed(run, (), run.status, run.accepted_at, None)
        result = run.result or {}
        text = result.get("text") if run.result else last.data.get("text", last.data.get("question", ""))
        return Reply(
            session_id=run.session_id,
            run_id=run.id,
            status=run.status,
            text=str(text or ""),
            turn=run.turn or result.get("turn"),
            finish=run.finish,
            merged=run.merged,
            carried=result.get("carried"),
            warnings=explanation.warnings,
            units=result.get("units") or explanation.units,
            intent=result.get("intent") or last.data.get("intent"),
            explanation=explanation,
        )

    async def explained(self, run: Run) -> ExplainedRun[Explanation]:
        """Why a run came out as it did. While it is open, or when that was dropped, as its feed tells it."""
        explained = await self._explanations.explained(run)
        if explained is None:
            entries = tuple([entry async for entry in self._told_of(run)])
            at = run.ended_at or run.started_at or run.accepted_at
            explanation = replace(explain_from_feed(run, entries, run.status, at, run.error), turn=run.turn)
            asked = "\n".join(event.as_text for event in run.input.events)
            explained = ExplainedRun(explanation=explanation, asked=asked[:PREVIEW_CHARS], preview="")
        if not explained.asked and run.result:
            # Its messages are with whoever keeps the session.
            explained = replace(explained, asked=run.result.get("asked", ""))
        if explained.preview:
            return explained
        return replace(explained, preview=(await self._said_by(run))[:PREVIEW_CHARS])

    async def _said_by(self, run: Run) -> str:
        """The answer or the question of a run, or why it has none."""
        if run.status in (RunStatus.COMPLETED, RunStatus.WAITING) or run.turn is not None:
            return (await self.reply_of(run)).text
        return run.error.message if run.error else ""

    async def follower_of(self, run: Run) -> Run | None:
        """The run that answers in the place of one that has ended; None when it has its own answer."""
        run = await self._runs.get(run.tenant, run.id)
        follower = self._follower(run)
        return await self._runs.get(run.tenant, follower) if follower else None

    async def answered_no(self, run: Run) -> int:
        """The number under which the feed tells of the newest answer that this run was given."""
        return max([entry.no async for entry in self._said_of(run) if entry.type is FeedType.RUN_ANSWERED])

    async def _question_of(self, run: Run) -> Reply:
        checkpoint = await self._runs.checkpoint(run.tenant, run.id)
        assert checkpoint is not None, "a waiting run has asked something"
        return Reply(
            session_id=run.session_id,
            run_id=run.id,
            status=run.status,
            text=checkpoint.asks[-1].shown,
            merged=run.merged,
            explanation=explain_from_feed(run, (), run.status, run.accepted_at, None),
        )

    def _follower(self, run: Run) -> RunId | None:
        if run.status is RunStatus.SUPERSEDED and not run.merged:
            return None
        return run.superseded_by

    async def _last_word(self, run: Run) -> FeedEntry:
        """What the feed said last of this run: its end, or its question."""
        last = None
        async for entry in self._said_of(run):
            last = entry
            if entry.type.ends_a_run:
                return entry
        assert last is not None, "every run has been accepted"
        return last

    async def _told_of(self, run: Run) -> AsyncIterator[FeedEntry]:
        """What the feed tells of this run, up to its end; pieces of its output are not part of its story."""
        async for entry in self._said_of(run):
            if entry.type is not FeedType.OUTPUT_DELTA:
                yield entry
            if entry.type.ends_a_run:
                return

    async def _said_of(self, run: Run) -> AsyncIterator[FeedEntry]:
        """What the feed has told of this run by now."""
        after = run.feed_no - 1
        while entries := await self._entries.read(run.tenant, run.subject, after=after, limit=PAGE):
            for entry in entries:
                after = entry.no
                if entry.run_id == run.id:
                    yield entry
