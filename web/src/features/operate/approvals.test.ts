import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApprovalOut } from "../../api/schema.gen.ts";
import { argumentsOf, deciderOf, restOf, whyNot } from "./approvals.ts";

function anApproval(more: Partial<ApprovalOut> = {}): ApprovalOut {
  return { required_role: "admin", context: {}, decided_by: null, ...more } as ApprovalOut;
}

test("whoever may not decide is told who may", () => {
  assert.equal(whyNot(anApproval(), "owner", true), undefined);
  assert.match(whyNot(anApproval(), "member", true) ?? "", /decided by admin or owner, and you are member/);
  assert.match(whyNot(anApproval({ required_role: "owner" }), "admin", true) ?? "", /decided by the owner/);
  assert.match(whyNot(anApproval({ required_role: "member" }), "viewer", false) ?? "", /you are viewer/);
  assert.match(whyNot(anApproval(), "admin", false) ?? "", /the key you came in with/i);
});

test("arguments are read from their text, and shown as they are where that fails", () => {
  assert.deepEqual(argumentsOf(anApproval({ context: { arguments: '{"line":"Hi"}' } })), { line: "Hi" });
  assert.equal(argumentsOf(anApproval({ context: { arguments: "{cut" } })), "{cut");
});

test("what has no place of its own is not lost", () => {
  assert.deepEqual(restOf(anApproval({ context: { agent: "clerk", amount: 3 } })), { amount: 3 });
});

test("where time decided, nobody is named", () => {
  assert.equal(deciderOf(anApproval({ decided_by: "-" })), "nobody in time");
  assert.equal(deciderOf(anApproval({ decided_by: "mia" })), "mia");
});
