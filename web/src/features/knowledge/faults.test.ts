import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, startOfLine } from "./faults.ts";

test("faults are read with their line, and what names no line is left out", () => {
  const details = [{ code: "X", line: 2, column: 18, message: "is none of" }, { pointer: "/text" }];

  assert.deepEqual(faultsOf(details), [{ line: 2, column: 18, message: "is none of" }]);
  assert.deepEqual(faultsOf(undefined), []);
});

test("a line begins behind the line break before it", () => {
  assert.equal(startOfLine("ab\ncd\nef", 1), 0);
  assert.equal(startOfLine("ab\ncd\nef", 3), 6);
  assert.equal(startOfLine("ab", 9), 0);
});
