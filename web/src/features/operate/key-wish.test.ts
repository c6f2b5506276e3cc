import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, keyOf, NO_WISH, rolesUpTo } from "./key-wish.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

test("a plain wish says no more than it must", () => {
  assert.deepEqual(keyOf({ ...NO_WISH, name: " export ", days: "" }, NOW), { name: "export" });
});

test("limits, rate and end go along as the server reads them", () => {
  const wish = { ...NO_WISH, name: "x", opens: "some", rights: ["runs:read"], days: "1", perSecond: "0.5", burst: "3" };

  assert.deepEqual(keyOf({ ...wish, opens: "some" }, NOW), {
    name: "x",
    limited_to: ["runs:read"],
    expires_at: "2026-01-02T00:00:00.000Z",
    rate: { per_second: 0.5, burst: 3 },
  });
  assert.deepEqual(keyOf({ ...NO_WISH, name: "x", opens: "read", days: "" }, NOW).limited_to, ["*:read"]);
});

test("the key of a session carries no role: it is an agent's", () => {
  const bound = keyOf({ ...NO_WISH, name: "x", role: "owner", sessionId: "sess_1" }, NOW);

  assert.deepEqual([bound.session_id, bound.role], ["sess_1", undefined]);
});

test("faults are told by field", () => {
  assert.deepEqual(Object.keys(faultsOf(NO_WISH)), ["name"]);
  assert.deepEqual(Object.keys(faultsOf({ ...NO_WISH, name: "x", opens: "some" })), ["rights"]);
  assert.deepEqual(Object.keys(faultsOf({ ...NO_WISH, name: "x", perSecond: "2" })), ["burst"]);
  assert.deepEqual(Object.keys(faultsOf({ ...NO_WISH, name: "x", perSecond: "fast", burst: "1.5" })), [
    "perSecond",
    "burst",
  ]);
});

test("nobody is offered a role above their own", () => {
  assert.deepEqual(rolesUpTo("member"), ["member", "agent", "viewer"]);
  assert.deepEqual(rolesUpTo("stranger"), []);
});
