import assert from "node:assert/strict";
import { test } from "node:test";
import type { SpentOut, UsageOut } from "../../api/schema.gen.ts";
import { byAgent, drawnByAgent, drawnByEnd, OTHERS, saysWhoSpends, tellingMeasure } from "./usage.ts";

const NOTHING: SpentOut = {
  runs: 0,
  completed: 0,
  failed: 0,
  tokens: 0,
  cost_cents: 0,
  model_calls: 0,
  tool_calls: 0,
};

function usageOf(...items: ReadonlyArray<readonly [hour: number, agent: string, spent: Partial<SpentOut>]>): UsageOut {
  return {
    by: "hour",
    since: "2026-01-01T00:00:00Z",
    until: "2026-01-01T04:00:00Z",
    items: items.map(([hour, agent, spent]) => ({
      at: `2026-01-01T0${hour}:00:00Z`,
      agent,
      spent: { ...NOTHING, ...spent },
    })),
    total: { ...NOTHING, runs: items.reduce((sum, [, , spent]) => sum + (spent.runs ?? 0), 0) },
  };
}

test("hours without a run are drawn empty, so that time is even", () => {
  const { places } = drawnByAgent(usageOf([1, "a", { runs: 2 }], [3, "a", { runs: 1 }]), "runs");

  assert.deepEqual(
    places.map((place) => place.values["agent-0"] ?? 0),
    [0, 2, 0, 1],
  );
  assert.deepEqual(
    places.map((place) => place.name),
    ["00:00", "01:00", "02:00", "03:00"],
  );
});

test("of many agents the largest are drawn by themselves and the rest together", () => {
  const many = ["a", "b", "c", "d", "e", "f", "g"].map((agent, place) => [1, agent, { runs: place + 1 }] as const);
  const { places, series } = drawnByAgent(usageOf(...many), "runs");

  assert.deepEqual(
    series.map(({ name }) => name),
    ["g", "f", "e", "d", OTHERS],
  );
  assert.equal(places[1]?.values[OTHERS], 1 + 2 + 3);
});

test("an agent that is called like the rest is not taken for them", () => {
  const { series } = drawnByAgent(usageOf([1, OTHERS, { runs: 1 }]), "runs");

  assert.notEqual(series[0]?.id, OTHERS);
});

test("what neither completed nor failed is drawn too", () => {
  const { places } = drawnByEnd(usageOf([0, "a", { runs: 5, completed: 2, failed: 1 }], [0, "b", { runs: 1 }]));

  assert.deepEqual(places[0]?.values, { completed: 2, failed: 1, other: 3 });
});

test("agents are added up over time, and the largest is named", () => {
  const usage = usageOf([0, "a", { runs: 1 }], [1, "b", { runs: 2 }], [2, "a", { runs: 5 }]);

  assert.deepEqual(
    byAgent(usage).map(({ agent, spent }) => [agent, spent.runs]),
    [
      ["a", 6],
      ["b", 2],
    ],
  );
  assert.equal(saysWhoSpends(usage, "runs"), "8 runs in all, 75 % of them by a.");
  assert.equal(saysWhoSpends(usage, "tokens"), "No tokens were spent in this time.");
});

test("money is drawn first, then tokens, and runs where neither is known", () => {
  assert.equal(tellingMeasure({ ...NOTHING, cost_cents: 1, tokens: 9 }), "cost_cents");
  assert.equal(tellingMeasure({ ...NOTHING, tokens: 9 }), "tokens");
  assert.equal(tellingMeasure(NOTHING), "runs");
});
