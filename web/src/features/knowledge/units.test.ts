import assert from "node:assert/strict";
import { test } from "node:test";
import type { UnitOut } from "../../api/schema.gen.ts";
import { chainOf, matching } from "./units.ts";

function unit(id: string, claim: string, more: Partial<UnitOut> = {}): UnitOut {
  return {
    id,
    status: "committed",
    epoch: 1,
    turn: 1,
    run_id: null,
    kept_at: "2026-01-01T00:00:00Z",
    superseded_by: null,
    unit: { id, claim, role: "Description", topic: "port" },
    ...more,
  };
}

const UNITS = [
  unit("a", "The port is 80.", { status: "superseded", superseded_by: "b" }),
  unit("b", "The port is 81.", { status: "superseded", superseded_by: "c" }),
  unit("c", "The port is 443."),
  unit("d", "Dogs are welcome."),
  unit("e", "", { status: "forgotten", unit: null }),
];
const ANY = { words: "", status: "", role: "" };
const idsOf = (units: readonly UnitOut[]) => units.map(({ id }) => id);

test("a chain tells what replaced what, from whichever end one comes", () => {
  for (const id of ["a", "b", "c"]) assert.deepEqual(idsOf(chainOf(UNITS, id)), ["a", "b", "c"]);
  assert.deepEqual(idsOf(chainOf(UNITS, "d")), ["d"]);
  assert.deepEqual(chainOf(UNITS, "unknown"), []);
});

test("a chain that bites its own tail ends", () => {
  const ring = [unit("x", "", { superseded_by: "y" }), unit("y", "", { superseded_by: "x" })];

  assert.equal(chainOf(ring, "x").length, 2);
});

test("units are found by all of the words, in any case, newest first", () => {
  assert.deepEqual(idsOf(matching(UNITS, { ...ANY, words: "PORT 4" })), ["c"]);
  assert.deepEqual(idsOf(matching(UNITS, ANY)), ["e", "d", "c", "b", "a"]);
});

test("units are found by what became of them and by their role", () => {
  assert.deepEqual(idsOf(matching(UNITS, { ...ANY, status: "superseded" })), ["b", "a"]);
  assert.deepEqual(matching(UNITS, { ...ANY, role: "Procedure" }), []);
});
