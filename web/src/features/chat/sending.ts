/** Sends messages: each is taken once, however often the line is cut while it is sent. */
import { useCallback, useEffect, useRef, useState } from "react";
import { ask, Problem } from "../../api/client.ts";
import { framesOf } from "../../api/live.ts";
import type { AttachmentOut, ChatIn } from "../../api/schema.gen.ts";

export type Wish = Partial<Omit<ChatIn, "message" | "attachments" | "request_id" | "stream">>;

export interface NewMessage {
  readonly text: string;
  readonly attachments: readonly AttachmentOut[];
  readonly wish: Wish;
}

/** A message that the server has not taken yet. */
export interface Outgoing extends NewMessage {
  readonly requestId: string;
  /** Whether the line is cut; it is sent again when it is back. */
  readonly isStuck: boolean;
  /** The run that answers it, as soon as it is taken. */
  readonly runId: string | null;
}

export interface Accepted {
  readonly sessionId: string;
  readonly runId: string;
  readonly replacedSessionId: string | null;
}

const PAUSE_MS = 2_000;

/** Returns as soon as the message is safe; the feed tells the rest. Raises Problem when it is refused. */
async function post(message: NewMessage, requestId: string, signal: AbortSignal): Promise<Accepted> {
  const body = {
    ...message.wish,
    message: message.text,
    attachments: message.attachments.map((attachment) => attachment.artifact_id),
    request_id: requestId,
    stream: true,
  };
  const response = await ask("/api/v1/chat", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(body),
    signal,
  });
  for await (const frames of framesOf(response)) {
    const frame = frames.find((each) => each.run_id !== null);
    if (frame === undefined || frame.run_id === null) continue;
    const told: Record<string, unknown> = frame.data;
    const replaced = typeof told.replaced_session_id === "string" ? told.replaced_session_id : null;
    return { sessionId: frame.session_id, runId: frame.run_id, replacedSessionId: replaced };
  }
  throw new TypeError("The answer broke off before it began.");
}

/** A name for one request; `randomUUID` is there on secure pages only. */
export function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `web-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** What is to be sent again under the same name: nobody said no to it. */
function isCut(error: unknown): boolean {
  return !(error instanceof Problem) || (error.retryable && error.status >= 500);
}

export interface Outbox {
  readonly outgoing: readonly Outgoing[];
  /** Resolves when the message is safe. Raises Problem when it is refused. */
  readonly send: (message: NewMessage) => Promise<Accepted>;
}

/** `onAccepted` is waited for before the message is no longer shown as on its way. */
export function useOutbox(onAccepted: (accepted: Accepted) => Promise<void> | void): Outbox {
  const [outgoing, setOutgoing] = useState<readonly Outgoing[]>([]);
  const leaving = useRef(new AbortController());
  const told = useRef(onAccepted);
  useEffect(() => {
    told.current = onAccepted;
  });
  useEffect(() => {
    const here = new AbortController();
    leaving.current = here;
    return () => here.abort();
  }, []);
  const send = useCallback(async (message: NewMessage): Promise<Accepted> => {
    const requestId = newRequestId();
    const { signal } = leaving.current;
    const change = (to: Partial<Outgoing>) =>
      setOutgoing((before) => before.map((each) => (each.requestId === requestId ? { ...each, ...to } : each)));
    setOutgoing((before) => [...before, { ...message, requestId, isStuck: false, runId: null }]);
    try {
      for (;;) {
        try {
          const accepted = await post(message, requestId, signal);
          change({ runId: accepted.runId });
          await told.current(accepted);
          return accepted;
        } catch (error) {
          if (signal.aborted || !isCut(error)) throw error;
          change({ isStuck: true });
          await backOnline(signal);
        }
      }
    } finally {
      setOutgoing((before) => before.filter((each) => each.requestId !== requestId));
    }
  }, []);
  return { outgoing, send };
}

/** Waits until the network may be back, or nobody waits any more. */
function backOnline(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      window.removeEventListener("online", stop);
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(stop, PAUSE_MS);
    window.addEventListener("online", stop);
    signal.addEventListener("abort", stop);
  });
}
