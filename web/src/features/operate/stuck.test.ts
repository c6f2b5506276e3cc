import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnkeeperServerWireOverviewNodeOut as NodeOut, RunOut } from "../../api/schema.gen.ts";
import { type House, worriesOf } from "./stuck.ts";

const NOON = Date.parse("2026-01-01T12:00:00Z");
const ago = (seconds: number) => new Date(NOON - seconds * 1_000).toISOString();

function aRun(status: string, seconds: number, more: Partial<RunOut> = {}): RunOut {
  return { id: "run", status, mode: "batch", accepted_at: ago(seconds), started_at: ago(seconds), ...more } as RunOut;
}

function aNode(lastsSeconds: number, more: Partial<NodeOut> = {}): NodeOut {
  const lease = { run_id: "run", expires_at: ago(-lastsSeconds) };
  return { id: "node", is_alive: true, leases: [lease], ...more } as NodeOut;
}

const worries = (house: Partial<House>) =>
  worriesOf({ runs: [], nodes: [], runSeconds: 60, at: NOON, ...house }).map(({ tone }) => tone);

test("a run that is held and young is no worry, whatever it waits for", () => {
  const nodes = [aNode(12)];

  for (const status of ["queued", "running", "waiting"]) {
    assert.deepEqual(worries({ runs: [aRun(status, 20)], nodes }), []);
  }
});

test("each way to wait has its own patience", () => {
  const nodes = [aNode(12)];

  assert.deepEqual(worries({ runs: [aRun("queued", 31)], nodes }), ["warn"]);
  assert.deepEqual(worries({ runs: [aRun("running", 61)], nodes }), ["warn"]);
  assert.deepEqual(worries({ runs: [aRun("waiting", 3_000)], nodes }), []);
  assert.deepEqual(worries({ runs: [aRun("waiting", 3_601)], nodes }), ["warn"]);
});

test("a long run may take its time", () => {
  assert.deepEqual(worries({ runs: [aRun("running", 9_000, { mode: "long_running" })], nodes: [aNode(12)] }), []);
});

test("a run that no node holds is bad, but not in its first seconds, and not where nodes cannot be seen", () => {
  assert.deepEqual(worries({ runs: [aRun("running", 20)] }), ["bad"]);
  assert.deepEqual(worries({ runs: [aRun("running", 5)] }), []);
  assert.deepEqual(worries({ runs: [aRun("running", 20)], nodes: undefined }), []);
});

test("a lease that nearly ends is a worry, and a node that is gone with one a greater", () => {
  assert.deepEqual(worries({ nodes: [aNode(1)] }), ["warn"]);
  assert.deepEqual(worries({ nodes: [aNode(12, { is_alive: false })] }), ["bad"]);
  assert.deepEqual(worries({ nodes: [aNode(12, { is_alive: false, leases: [] })] }), []);
});

test("the worst comes first", () => {
  const runs = [aRun("queued", 100, { id: "slow" }), aRun("running", 100, { id: "lost" })];

  assert.deepEqual(worries({ runs }), ["bad", "warn"]);
});
