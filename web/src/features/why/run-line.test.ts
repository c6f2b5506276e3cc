import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunOut, SummaryOut } from "../../api/schema.gen.ts";
import { linesOf } from "./run-line.ts";

const run = (id: string, status: RunOut["status"]) =>
  ({ id, status, said: [{ text: "Hello", attachments: [] }] }) as unknown as RunOut;
const told = (run_id: string) => ({ run_id, status: "completed" }) as SummaryOut;

test("runs that are not over come first, and none is listed twice", () => {
  const lines = linesOf([run("d", "queued"), run("c", "waiting"), run("b", "completed")], [told("c"), told("a")]);

  assert.deepEqual(
    lines.map(({ run_id }) => run_id),
    ["d", "c", "a"],
  );
  assert.equal(lines[0]?.asked, "Hello");
});
