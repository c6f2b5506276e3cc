import type { Tone } from "../../../ui/badge.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  ok: "good",
  success: "good",
  succeeded: "good",
  accepted: "good",
  answered: "good",
  selected: "good",
  active: "info",
  running: "info",
  declined: "warn",
  insufficient: "warn",
  partial: "warn",
  waiting: "warn",
  failed: "bad",
  error: "bad",
  rejected: "bad",
  denied: "bad",
  timed_out: "bad",
};

/** What is not known by name neither went well nor wrong. */
export function toneOfNode(status: string): Tone {
  return TONES[status] ?? "neutral";
}

const TYPES: Readonly<Record<string, 1 | 2 | 3 | 4 | 5>> = {
  step: 1,
  decision: 5,
  frame: 5,
  seed: 5,
  policy: 3,
  planner: 3,
  plugin: 2,
  tool: 2,
  branch: 2,
  result: 2,
  candidate: 2,
  comparison: 3,
  challenge: 3,
  failure: 4,
};

/** The colour of a kind of node; its name stands beside it. */
export function colourOfType(type: string): string {
  return `var(--chart-${TYPES[type] ?? 5})`;
}
