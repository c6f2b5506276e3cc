import assert from "node:assert/strict";
import { test } from "node:test";
import type { EnvelopeCountOut, LatencyOut } from "../../api/schema.gen.ts";
import { bucketsOf, letIn, saysHowFast, saysWhoIsLetIn } from "./traffic.ts";

const counted = (outcome: string, reason: string, channel: string, count: number): EnvelopeCountOut => ({
  outcome,
  reason,
  channel,
  mode: "batch",
  count,
});

function took(...counts: readonly number[]): LatencyOut {
  const bounds = [1, 2, 5, null];
  const buckets = counts.map((count, place) => ({ up_to_ms: bounds[place] ?? null, count }));
  return { count: counts.reduce((sum, count) => sum + count, 0), mean_ms: 1, p50_ms: 1.5, p99_ms: 4, buckets };
}

test("what was refused is counted by channel and by reason, the most first", () => {
  const told = letIn([
    counted("accepted", "", "app_chat", 90),
    counted("rejected", "rate_limited", "app_chat", 2),
    counted("rejected", "queue_full", "email", 5),
    counted("rejected", "rate_limited", "email", 3),
  ]);

  assert.deepEqual([told.accepted, told.refused], [90, 10]);
  assert.deepEqual(told.byChannel[1]?.values, { accepted: 0, refused: 8 });
  assert.deepEqual(
    told.byReason.map(({ count }) => count),
    [5, 5],
  );
  assert.equal(
    saysWhoIsLetIn(told),
    "90 of 100 messages were let in and 10 refused (10 %), most of them for queue_full.",
  );
});

test("empty buckets at both ends are left out, but for one beside", () => {
  assert.deepEqual(
    bucketsOf(took(0, 0, 3, 0)).map(({ name, values }) => [name, values.count]),
    [
      ["≤ 2 ms", 0],
      ["≤ 5 ms", 3],
      ["over 5 ms", 0],
    ],
  );
});

test("where nothing was measured, nothing is said about speed", () => {
  assert.match(saysHowFast({ ...took(0, 0, 0, 0), p50_ms: null, p99_ms: null }), /nothing to measure/);
  assert.equal(
    saysHowFast(took(1, 1, 0, 0)),
    "Of 2 messages, half were accepted within 1.5 ms and 99 of 100 within 4 ms.",
  );
});
