import assert from "node:assert/strict";
import { test } from "node:test";
import type { GraphOut } from "../../../api/schema.gen.ts";
import { layOut } from "./layout.ts";
import { firstView } from "./plan.ts";
import { drawnEdges, linesOf, treeOf } from "./tree.ts";
import { neighbour } from "./walk.ts";

function graph(ids: string[], edges: ReadonlyArray<readonly [string, string, string]>): GraphOut {
  const node = { type: "plugin", status: "ok", frame_id: null, began_us: 0, took_us: 1 };
  const said = { input: null, output: null, error: null, metadata: {} };
  return {
    root_frame_id: null,
    nodes: ids.map((id) => ({ id, label: id, ...node, ...said })),
    edges: edges.map(([type, from, to]) => ({ type, from, to })),
    left_out: 0,
  };
}

const RUN = graph(
  ["take", "work", "keep", "frame", "seed", "branch", "result"],
  [
    ["flow", "take", "work"],
    ["flow", "work", "keep"],
    ["contains", "work", "frame"],
    ["contains", "frame", "seed"],
    ["contains", "frame", "branch"],
    ["contains", "frame", "result"],
    ["produced", "branch", "result"],
  ],
);

test("the tree holds every node once, under what is nearest to it", () => {
  const lines = linesOf(treeOf(RUN)).map(({ node, depth }) => `${"-".repeat(depth)}${node.id}`);

  assert.deepEqual(lines, ["take", "work", "-frame", "--seed", "--branch", "---result", "keep"]);
});

test("a ring of parts does not hang the tree, and loses no node", () => {
  const ring = graph(
    ["a", "b"],
    [
      ["contains", "a", "b"],
      ["contains", "b", "a"],
    ],
  );

  assert.equal(linesOf(treeOf(ring)).length, 2);
});

test("arrows follow the edges: inside first, then on, back up, and between those that share a holder", () => {
  assert.equal(neighbour(RUN, "take", "down"), "work");
  assert.equal(neighbour(RUN, "work", "down"), "frame");
  assert.equal(neighbour(RUN, "frame", "up"), "work");
  assert.equal(neighbour(RUN, "seed", "right"), "branch");
  assert.equal(neighbour(RUN, "branch", "left"), "seed");
  assert.equal(neighbour(RUN, "work", "right"), "keep");
  assert.equal(neighbour(RUN, "keep", "down"), undefined);
});

test("of two edges to a node only the nearer one is drawn", () => {
  const drawn = drawnEdges(RUN).map((edge) => `${edge.from} ${edge.to}`);

  assert.ok(!drawn.includes("frame result"));
  assert.ok(drawn.includes("branch result") && drawn.includes("frame branch"));
});

test("every node has a place, and what follows stands below", () => {
  const { places } = layOut(RUN);

  assert.equal(Object.keys(places).length, RUN.nodes.length);
  assert.ok((places.frame?.y ?? 0) > (places.work?.y ?? 0));
});

test("a small graph is shown whole, a large one where it matters", () => {
  const plan = { places: { late: { x: 4000, y: 3000 } }, width: 5000, height: 5000 };

  assert.deepEqual(firstView({ places: {}, width: 400, height: 400 }, { width: 800, height: 400 }, undefined), {
    zoom: 1,
    x: 200,
    y: 0,
  });
  assert.ok(firstView(plan, { width: 800, height: 400 }, "late").y < -2000);
  assert.equal(firstView(plan, { width: 800, height: 400 }, undefined).y, 0);
});
