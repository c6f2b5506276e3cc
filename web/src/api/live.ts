/** Follows a feed of the server: numbered frames, resumed behind the last one after every cut. */
import { createParser } from "eventsource-parser";
import { ask, Problem } from "./client.ts";
import type { Frame } from "./schema.gen.ts";
import { untilSeen, whenHidden } from "./sight.ts";

export type { Frame };
export type LineState = "connecting" | "live" | "cut" | "ended";

export interface Following {
  /** Which feed: `/api/v1/sessions/ID/feed` or `/api/v1/runs/ID/feed`. */
  readonly path: string;
  /** The number of the last frame that is known already. */
  readonly after: number;
  readonly onFrames: (frames: readonly Frame[]) => void;
  readonly onLine?: (state: LineState) => void;
  /** The server says that there is nothing to follow; it is not tried again. */
  readonly onRefused?: (problem: Problem) => void;
  readonly signal: AbortSignal;
}

const FIRST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 10_000;

/** Returns when `signal` is aborted or the server refuses for good; rests while nobody can see the page. */
export async function follow(following: Following): Promise<void> {
  const { path, signal, onFrames } = following;
  const onLine = following.onLine ?? (() => {});
  let last = following.after;
  let pause = FIRST_PAUSE_MS;
  for (;;) {
    await untilSeen(document, signal);
    if (signal.aborted) return;
    onLine("connecting");
    const line = lineUntil(signal);
    try {
      const response = await ask(path, {
        headers: { "Last-Event-ID": String(last), Accept: "text/event-stream" },
        signal: line.signal,
      });
      onLine("live");
      pause = FIRST_PAUSE_MS;
      for await (const frames of framesOf(response)) {
        const news = frames.filter((frame) => frame.seq > last);
        const newest = news.at(-1);
        if (newest === undefined) continue;
        last = newest.seq;
        onFrames(news);
      }
      // A stream that ends while nobody aborted it was cut, or its node is going away.
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && !error.retryable && error.status < 500) {
        onLine("ended");
        following.onRefused?.(error);
        return;
      }
    } finally {
      line.letGo();
    }
    if (signal.aborted) return;
    if (document.hidden) continue;
    onLine("cut");
    await rest(pause, signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

/** Ends with `signal`, out of sight, or when the network is gone: a stream that nobody feeds would not say so itself. */
function lineUntil(signal: AbortSignal): { readonly signal: AbortSignal; readonly letGo: () => void } {
  const line = new AbortController();
  const cut = () => line.abort();
  signal.addEventListener("abort", cut);
  window.addEventListener("offline", cut);
  const stopLooking = whenHidden(document, cut);
  const letGo = () => {
    stopLooking();
    signal.removeEventListener("abort", cut);
    window.removeEventListener("offline", cut);
  };
  return { signal: line.signal, letGo };
}

/** The frames of a stream, as many together as came together. */
export async function* framesOf(response: Response): AsyncGenerator<readonly Frame[]> {
  if (response.body === null) return;
  let arrived: Frame[] = [];
  const parser = createParser({
    onEvent: (event) => {
      arrived.push(JSON.parse(event.data) as Frame);
    },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      parser.feed(value);
      if (arrived.length > 0) {
        const together = arrived;
        arrived = [];
        yield together;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Waits, but not longer than until the network is back or nobody listens any more. */
function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      window.removeEventListener("online", stop);
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(stop, ms);
    window.addEventListener("online", stop);
    signal.addEventListener("abort", stop);
  });
}
