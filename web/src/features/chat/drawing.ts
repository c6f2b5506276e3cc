/** Turns markdown into elements, a little at a time, so that no single task holds the page up. */
import type { ReactElement } from "react";

const MOST_MS = 6;
const MOST_KEPT = 400;

let spentMs = 0;
let isEnding = false;
const kept = new Map<string, ReactElement>();
const waiting = new Set<() => void>();
const nextTask = new MessageChannel();

nextTask.port1.onmessage = () => {
  spentMs = 0;
  isEnding = false;
  for (const again of waiting) {
    waiting.delete(again);
    again();
    // One at a time; the rest have their turn in the tasks behind.
    if (waiting.size > 0) endOfTask();
    return;
  }
};

function endOfTask(): void {
  if (isEnding) return;
  isEnding = true;
  nextTask.port2.postMessage(null);
}

/** What `draw` makes of a text; null when this task has drawn enough. What was drawn before is there at once. */
export function drawnNow(text: string, draw: (text: string) => ReactElement): ReactElement | null {
  const known = kept.get(text);
  if (known !== undefined) return known;
  if (spentMs >= MOST_MS) return null;
  const began = performance.now();
  const made = draw(text);
  spentMs += performance.now() - began;
  endOfTask();
  kept.set(text, made);
  const oldest = kept.keys().next();
  if (kept.size > MOST_KEPT && oldest.done !== true) kept.delete(oldest.value);
  return made;
}

/** Calls `again` in a later task; returns how to call that off. */
export function later(again: () => void): () => void {
  waiting.add(again);
  endOfTask();
  return () => waiting.delete(again);
}
