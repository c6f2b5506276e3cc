import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame } from "../../api/live.ts";
import type { MessageOut, ResumeViewOut, RunOut } from "../../api/schema.gen.ts";
import {
  type Conversation,
  conversationOf,
  refreshed,
  withAnswer,
  withMessages,
  withOlder,
  withRun,
} from "./conversation.ts";
import { applyFrames, newsIn } from "./frames.ts";
import { askingIn, rowsOf, runningIn } from "./rows.ts";

function frame(seq: number, type: Frame["type"], runId: string | null, data: Record<string, unknown> = {}): Frame {
  return { seq, prev: seq - 1, type, run_id: runId, session_id: "s", ts: "2030-01-01T00:00:00Z", data } as Frame;
}

function run(id: string, more: Partial<RunOut> = {}): RunOut {
  return {
    id,
    agent: "parrot",
    status: "queued",
    turn: null,
    finish: null,
    merged: null,
    said: [{ text: `said to ${id}`, attachments: [] }],
    error: null,
    queue_no: 1,
    feed_no: 1,
    retry_of: null,
    superseded_by: null,
    accepted_at: "2030-01-01T00:00:00Z",
    ...more,
  } as RunOut;
}

function message(seq: number, turn: number, more: Partial<MessageOut> = {}): MessageOut {
  const role = seq % 2 === 1 ? "user" : "assistant";
  return { id: `m${seq}`, seq, turn, epoch: 1, role, content: `${seq}`, created_at: "", ...more };
}

function view(runs: readonly RunOut[], messages: readonly MessageOut[], epoch = 1): ResumeViewOut {
  return { session: { epoch }, runs, messages, pending_approvals: [] } as unknown as ResumeViewOut;
}

/** What stands on the page: messages by number, runs by id, resets by epoch. */
function drawn(known: Conversation): readonly string[] {
  return rowsOf(known).map((row) =>
    row.kind === "message" ? `${row.message.seq}` : row.kind === "run" ? row.run.id : `epoch ${row.epoch}`,
  );
}

const EMPTY = conversationOf(view([], []));

test("pieces of an answer are put together in their order, each once", () => {
  const first = [
    frame(1, "run.accepted", "a", { agent: "parrot", queue_no: 1 }),
    frame(2, "output.delta", "a", { text: "Hel" }),
  ];
  const again = [frame(2, "output.delta", "a", { text: "Hel" }), frame(3, "output.delta", "a", { text: "lo" })];

  const known = applyFrames(applyFrames(EMPTY, first), again);

  assert.equal(known.runs.a?.shown, "Hello");
  assert.equal(known.seen, 3);
});

test("after a reload the pieces of what is under way come again, and a snapshot takes their place", () => {
  const known = conversationOf(view([run("a", { status: "running", feed_no: 7 })], []));

  assert.equal(known.seen, 6);
  const later = applyFrames(known, [frame(9, "output.snapshot", "a", { text: "All of it" })]);
  assert.equal(later.runs.a?.shown, "All of it");
});

test("a run that ended stays as it ended, whatever comes late", () => {
  const ended = applyFrames(EMPTY, [
    frame(1, "run.accepted", "a"),
    frame(2, "run.failed", "a", { error: { code: "agent_failed", message: "No.", stage: "hand_off" } }),
    frame(3, "output.delta", "a", { text: "late" }),
  ]);

  const known = withRun(ended, run("a", { status: "running" }));

  assert.equal(known.runs.a?.status, "failed");
  assert.equal(known.runs.a?.error?.code, "agent_failed");
  assert.equal(known.runs.a?.shown, "");
  assert.equal(known.runs.a?.said[0]?.text, "said to a");
});

test("two runs are told apart, and the second waits in line", () => {
  const known = [run("a"), run("b", { queue_no: 2 })].reduce(
    withRun,
    applyFrames(EMPTY, [
      frame(1, "run.accepted", "a", { queue_no: 1 }),
      frame(2, "run.accepted", "b", { queue_no: 2 }),
      frame(3, "output.delta", "a", { text: "one" }),
    ]),
  );

  assert.deepEqual([known.runs.a?.shown, known.runs.b?.shown], ["one", ""]);
  assert.equal(runningIn(known)?.id, "a");
  assert.deepEqual(
    rowsOf(known).map((row) => (row.kind === "run" ? row.place : 0)),
    [1, 2],
  );
});

test("a completed run gives its place to its messages", () => {
  const before = withRun(applyFrames(EMPTY, [frame(1, "run.accepted", "a")]), run("a"));
  const completed = applyFrames(before, [frame(2, "run.completed", "a", { text: "Yes.", turn: 1, finish: "done" })]);

  assert.deepEqual(drawn(completed), ["a"]);
  assert.deepEqual(newsIn(before, [frame(2, "run.completed", "a", { text: "Yes.", turn: 1 })]), {
    runs: ["a"],
    messages: true,
    approvals: false,
    session: true,
  });
  assert.deepEqual(drawn(withMessages(completed, [message(1, 1), message(2, 1)])), ["1", "2"]);
});

test("a question waits for its answer, and is asked once", () => {
  const waiting = withRun(
    applyFrames(EMPTY, [frame(1, "run.accepted", "a"), frame(2, "run.waiting", "a", { question: "How many?" })]),
    run("a", { status: "waiting" }),
  );
  assert.equal(askingIn(waiting)?.question, "How many?");

  const told = withAnswer(applyFrames(waiting, [frame(3, "run.answered", "a")]), "a", "six");

  assert.equal(askingIn(told), undefined);
  assert.deepEqual(told.runs.a?.asked, [{ question: "How many?", answer: "six" }]);
});

test("a failed run stands between the turns around it", () => {
  const runs = [
    run("c", { status: "completed", turn: 2, queue_no: 3 }),
    run("b", { status: "failed", queue_no: 2 }),
    run("a", { status: "completed", turn: 1, queue_no: 1 }),
  ];

  const known = conversationOf(view(runs, [message(1, 1), message(2, 1), message(3, 2), message(4, 2)]));

  assert.deepEqual(drawn(known), ["1", "2", "b", "3", "4"]);
});

test("of a merged message nothing is told twice, of one that was rolled back that it was", () => {
  const merged = [
    run("b", { queue_no: 2, merged: true }),
    run("a", { status: "superseded", superseded_by: "b", queue_no: 1 }),
  ];
  const rolledBack = [run("b", { queue_no: 2 }), run("a", { status: "superseded", superseded_by: "b", queue_no: 1 })];

  assert.deepEqual(drawn(conversationOf(view(merged, []))), ["b"]);
  assert.deepEqual(drawn(conversationOf(view(rolledBack, []))), ["a", "b"]);
});

test("a reset draws a line, bare or with a message, and draws it once", () => {
  const runs = [
    run("b", { status: "completed", command: "reset", said: [], queue_no: 2 }),
    run("a", { status: "completed", turn: 1, queue_no: 1 }),
  ];
  const bare = conversationOf(view(runs, [message(1, 1), message(2, 1)], 2));
  assert.deepEqual(drawn(bare), ["1", "2", "epoch 2"]);

  const after = withMessages(bare, [message(3, 2, { epoch: 2 }), message(4, 2, { epoch: 2 })]);
  assert.deepEqual(drawn(after), ["1", "2", "epoch 2", "3", "4"]);

  const live = applyFrames(conversationOf(view([], [message(1, 1)])), [frame(5, "session.reset", null, { epoch: 2 })]);
  assert.deepEqual(drawn(live), ["1", "epoch 2"]);
});

test("older messages come in front with their runs, and what failed before them stays out of sight", () => {
  const newest = conversationOf(
    view(
      [run("d", { status: "completed", turn: 2, queue_no: 4 }), run("c", { status: "failed", queue_no: 3 })],
      [message(3, 2), message(4, 2)],
    ),
  );
  assert.deepEqual(drawn(newest), ["3", "4"]);

  const all = withOlder(newest, [message(1, 1), message(2, 1)], [run("a", { status: "completed", turn: 1 })], false);

  assert.deepEqual(drawn(all), ["1", "2", "c", "3", "4"]);
});

test("reading anew keeps what is live, and begins anew behind a gap", () => {
  const live = applyFrames(conversationOf(view([run("a", { status: "running", feed_no: 3 })], [message(1, 1)])), [
    frame(4, "output.delta", "a", { text: "half" }),
  ]);

  const same = refreshed(live, view([run("a", { status: "running", feed_no: 3 })], [message(1, 1), message(2, 1)]));
  const other = refreshed(live, view([], [message(8, 4)]));

  assert.deepEqual([same.runs.a?.shown, same.seen, same.messages.length], ["half", 4, 2]);
  assert.deepEqual(
    other.messages.map(({ seq }) => seq),
    [8],
  );
});

test("an approval that is decided is no longer asked for", () => {
  const asked = { ...EMPTY, approvals: [{ id: "ap", run_id: "a" }] } as unknown as Conversation;

  assert.deepEqual(applyFrames(asked, [frame(1, "approval.decided", "a", { approval_id: "ap" })]).approvals, []);
  assert.equal(newsIn(EMPTY, [frame(1, "approval.requested", "a", { approval_id: "ap" })]).approvals, true);
});
