/** The way of a turn in plain words: what each step is called, and what happens in it. */

interface Step {
  readonly name: string;
  readonly title: string;
  readonly says: string;
}

/** In the order in which every turn walks them. */
export const WAY: readonly Step[] = [
  { name: "intake", title: "Taken in", says: "the message is received and written down" },
  { name: "open_session", title: "Session opened", says: "what this session knows so far is read" },
  { name: "reset", title: "Reset looked for", says: "it is checked whether the conversation begins anew" },
  { name: "hold_intent", title: "Intent held", says: "it is settled what the message is about" },
  { name: "materialize", title: "Context prepared", says: "it is settled what the agent sees and may use" },
  { name: "hand_off", title: "Agent at work", says: "the agent works on the answer" },
  { name: "commit", title: "Kept", says: "the whole turn is written, or nothing of it" },
];

const OTHERS: Readonly<Record<string, string>> = {
  change_units: "Units changed",
  "run.accepted": "Taken in",
  "run.waiting": "Waiting for an answer",
  "run.resumed": "Went on",
  "run.answered": "Answer received",
  "run.completed": "Completed",
  "run.failed": "Failed",
  "run.cancelled": "Cancelled",
  "run.superseded": "Replaced",
  "run.timed_out": "Out of time",
  "run.abandoned": "Abandoned",
  "output.delta": "Text shown",
  "output.snapshot": "Text shown",
  "tool.started": "Tool called",
  "tool.finished": "Tool answered",
  "approval.requested": "Approval asked for",
  "approval.decided": "Approval decided",
  "checkpoint.saved": "Checkpoint saved",
  "scope.denied": "Denied by scope",
  "budget.update": "Budget counted",
  "session.reset": "Conversation reset",
};

/** What a stage is called on the page; decisions (in capitals) and unknown ones keep the name that they have. */
export function titleOfStage(name: string): string {
  return WAY.find((step) => step.name === name)?.title ?? OTHERS[name] ?? name;
}

/** Where a step stands on the way, counted from 1, with its words; undefined for what is no step of the way. */
export function placeOfStage(name: string): (Step & { readonly no: number }) | undefined {
  const at = WAY.findIndex((step) => step.name === name);
  const step = WAY[at];
  return step === undefined ? undefined : { ...step, no: at + 1 };
}
