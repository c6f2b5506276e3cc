import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExplanationOut } from "../../api/schema.gen.ts";
import { differences, nodeChanges, stagePairs } from "./compare.ts";
import { denialsOf, metersOf } from "./facts.ts";
import type { NodeOut } from "./graph/tree.ts";

function told(more: Partial<ExplanationOut>): ExplanationOut {
  return {
    run_id: "run_1",
    session_id: "sess_1",
    turn: 1,
    at: "2026-01-01T00:00:00Z",
    status: "completed",
    partial: false,
    asked: "Hello",
    preview: "",
    answer_status: null,
    plugins: {},
    model: null,
    level: null,
    warnings: [],
    error: null,
    units: {},
    stages: [],
    budget: {},
    graph: { root_frame_id: null, nodes: [], edges: [], left_out: 0 },
    document: null,
    details: {},
    ...more,
  };
}

const node = (label: string, status = "ok"): NodeOut => ({
  id: `${label}-${status}`,
  type: "plugin",
  label,
  status,
  frame_id: null,
  began_us: 0,
  took_us: 0,
  input: null,
  output: null,
  error: null,
  metadata: {},
});

test("what one run has and the other has not is a difference, the rest is the same", () => {
  const one = { told: told({ plugins: { "kb-plugin": "kb-fast" } }), run: undefined };
  const other = { told: told({}), run: undefined };

  const found = differences(one, other).filter((row) => row.differs);

  assert.deepEqual(found, [{ about: "kb-plugin", one: "kb-fast", other: "none", differs: true }]);
});

test("stages are paired by name, and what did not run says nothing", () => {
  const stage = (name: string, took_us: number) => ({ name, began_us: 0, took_us, data: {} });

  const pairs = stagePairs(
    told({ stages: [stage("reset", 5), stage("commit", 7)] }),
    told({ stages: [stage("reset", 6)] }),
  );

  assert.deepEqual(pairs, [
    { name: "Reset looked for", one: 5, other: 6 },
    { name: "Kept", one: 7, other: undefined },
  ]);
});

test("of nodes that are alike only those count that the other has not as well", () => {
  const { onlyInOne, onlyInOther } = nodeChanges([node("a"), node("a"), node("b")], [node("a"), node("b", "failed")]);

  assert.deepEqual(
    onlyInOne.map(({ label }) => label),
    ["a", "b"],
  );
  assert.deepEqual(
    onlyInOther.map(({ status }) => status),
    ["failed"],
  );
});

test("a budget shows what was spent against its limit, and what is counted without one", () => {
  const run = { account: { tokens: 30, tool_calls: 2 }, started_at: null, ended_at: null };

  const meters = metersOf(told({ budget: { model_calls: 1, most_model_calls: 5 } }), run, { tokens: 100 });

  assert.deepEqual(
    meters.map(({ name, spent, most }) => [name, spent, most]),
    [
      ["Calls of models", 1, 5],
      ["Tokens", 30, 100],
      ["Calls of tools", 2, undefined],
    ],
  );
});

test("what was denied is told with what it was about", () => {
  const denied = told({
    warnings: ["denied.not_available", "history_cut"],
    details: { "denied.not_available": { tool: "mail.send", call_id: "c1" } },
  });

  assert.deepEqual(denialsOf(denied), [{ code: "not_available", about: "tool mail.send" }]);
});
