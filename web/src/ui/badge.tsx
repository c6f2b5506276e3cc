import type { ReactNode } from "react";
import css from "./badge.module.css";

export type Tone = "neutral" | "good" | "warn" | "bad" | "info" | "accent";

/** A short word with a colour; the word alone says what the colour says. */
export function Badge({ tone = "neutral", children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return <span className={`${css.badge} ${css[tone]}`}>{children}</span>;
}

const TONES: Readonly<Record<string, Tone>> = {
  active: "good",
  completed: "good",
  done: "good",
  accepted: "good",
  approved: "good",
  success: "good",
  ok: "good",
  running: "info",
  queued: "info",
  waiting: "warn",
  paused: "warn",
  pending: "warn",
  merged: "info",
  failed: "bad",
  refused: "bad",
  rejected: "bad",
  error: "bad",
  timed_out: "bad",
  abandoned: "bad",
  denied: "bad",
  expired: "neutral",
  closed: "neutral",
  cancelled: "neutral",
  superseded: "neutral",
};

/** The status of a session, run, approval or node, as the server names it. */
export function Status({ of }: { readonly of: string }) {
  return <Badge tone={TONES[of] ?? "neutral"}>{of.replaceAll("_", " ")}</Badge>;
}
