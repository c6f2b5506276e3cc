import { useSyncExternalStore } from "react";
import { durationOf } from "./durations.ts";

const TICK_MS = 1_000;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Now, in milliseconds, anew each second; one clock for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

const UNITS: ReadonlyArray<readonly [Intl.RelativeTimeFormatUnit, number]> = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** "3 min ago", with the exact time on hover. */
export function When({ at }: { readonly at: string }) {
  const seconds = (Date.parse(at) - useNow()) / 1_000;
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {relativeTo(seconds)}
    </time>
  );
}

/** How long something still lasts, counted down by the second when it is near. */
export function Countdown({ until }: { readonly until: string }) {
  const left = Math.max(0, Math.round((Date.parse(until) - useNow()) / 1_000));
  return (
    <time dateTime={until} title={exact.format(new Date(until))}>
      {durationOf(left)}
    </time>
  );
}

export function relativeTo(seconds: number): string {
  const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? (["second", 1] as const);
  return relative.format(Math.trunc(seconds / length), unit);
}

/** A length of time as an engineer says it: 850 µs, 12.4 ms, 3.10 s. */
export function lengthOf(microseconds: number): string {
  if (microseconds < 1_000) return `${microseconds} µs`;
  if (microseconds < 1_000_000) return `${(microseconds / 1_000).toFixed(1)} ms`;
  return `${(microseconds / 1_000_000).toFixed(2)} s`;
}
