/** What is said about an approval, and who may decide it. */
import type { ApprovalOut } from "../../api/schema.gen.ts";

/** From the least to the most; nobody else decides anything. */
const DECIDERS = ["member", "admin", "owner"];

export function decidesWith(role: string, required: string): boolean {
  return DECIDERS.includes(role) && DECIDERS.indexOf(role) >= DECIDERS.indexOf(required);
}

/** Why this caller cannot decide it; undefined if they can. */
export function whyNot(approval: ApprovalOut, role: string, mayWrite: boolean): string | undefined {
  const needed = DECIDERS.slice(DECIDERS.indexOf(approval.required_role));
  const who = needed.length === 1 ? `the ${needed[0]}` : needed.join(" or ");
  if (!decidesWith(role, approval.required_role))
    return `This is decided by ${who}, and you are ${role}. Ask one of them.`;
  if (!mayWrite) return "The key you came in with can look at approvals, but not decide them. Log in with another one.";
  return undefined;
}

/** What happens when nobody decides. */
export function afterwards(approval: ApprovalOut): string {
  switch (approval.rule.on_timeout) {
    case "auto_approve":
      return "then it counts as approved";
    case "escalate":
      return "then a higher role is asked";
    default:
      return "then it is refused";
  }
}

/** The arguments of a call come as the text of their JSON. */
export function argumentsOf(approval: ApprovalOut): unknown {
  const told = approval.context.arguments;
  if (typeof told !== "string") return told;
  try {
    return JSON.parse(told);
  } catch {
    return told;
  }
}

/** Everything in the context that has no place of its own on the page. */
export function restOf(approval: ApprovalOut): Readonly<Record<string, unknown>> {
  const shown = new Set(["summary", "arguments", "agent", "user", "risk", "resources"]);
  return Object.fromEntries(Object.entries(approval.context).filter(([name]) => !shown.has(name)));
}

/** Who decided, as one says it: a dash means that time did. */
export function deciderOf(approval: ApprovalOut): string {
  if (approval.decided_by === null) return "nobody";
  return approval.decided_by === "-" ? "nobody in time" : approval.decided_by;
}
