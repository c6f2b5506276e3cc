/** Sends one message, and tells a cut line from a refusal. */
import { ask, Problem } from "../../api/client.ts";
import { framesOf } from "../../api/live.ts";
import type { AttachmentOut, ChatIn } from "../../api/schema.gen.ts";

export type Wish = Partial<Omit<ChatIn, "message" | "attachments" | "request_id" | "stream">>;

export interface NewMessage {
  readonly text: string;
  readonly attachments: readonly AttachmentOut[];
  readonly wish: Wish;
}

export interface Accepted {
  readonly sessionId: string;
  readonly runId: string;
  readonly replacedSessionId: string | null;
}

/** Returns as soon as the message is safe; the feed tells the rest. Raises Problem when it is refused. */
export async function post(message: NewMessage, requestId: string): Promise<Accepted> {
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

/** What is to be sent again under the same name: nobody said no to it, or only because nobody is logged in. */
export function isCut(error: unknown): boolean {
  return !(error instanceof Problem) || error.status === 401 || (error.retryable && error.status >= 500);
}
