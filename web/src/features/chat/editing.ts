/** Says an earlier message otherwise, in a fork from before it. */
import { type RefObject, useCallback, useState } from "react";
import { answered, api } from "../../api/client.ts";
import type { AttachmentOut, MessageOut } from "../../api/schema.gen.ts";
import { useToasts } from "../../ui/toasts.tsx";
import type { ComposerHandle } from "./composer.tsx";
import type { Conversation } from "./conversation.ts";
import { type NewMessage, newRequestId } from "./sending.ts";

export interface Editing {
  readonly message: MessageOut;
  /** However often it is tried, there is one fork. */
  readonly forkKey: string;
  /** The fork, once it stands as the session stood before the message. */
  readonly forkId: string | null;
}

export function useEditing(
  known: Conversation,
  sessionId: string,
  composer: RefObject<ComposerHandle | null>,
  send: (message: NewMessage) => Promise<unknown>,
) {
  const { tell } = useToasts();
  const [editing, setEditing] = useState<Editing | null>(null);
  const onEditBegun = useCallback(
    (message: MessageOut) => {
      setEditing({ message, forkKey: newRequestId(), forkId: null });
      composer.current?.setAside(message.content, message.attachments ?? []);
    },
    [composer],
  );
  const onEditEnded = () => {
    if (editing === null) return;
    setEditing(null);
    composer.current?.bringBack();
  };
  /** Raises when it is refused: then it is still being edited, and the next try goes into the same fork. */
  const sendEdited = async (edited: Editing, text: string, attachments: readonly AttachmentOut[]) => {
    const forkId = edited.forkId ?? (await forkBefore(known, sessionId, edited));
    setEditing((now) => (now?.forkKey === edited.forkKey ? { ...now, forkId } : now));
    await send({ text, attachments, wish: { session_id: forkId, on_missing: "error" } });
    tell("This goes on in a fork. The session it came from stays as it is.");
    setEditing(null);
    composer.current?.bringBack();
  };
  return { editing, onEditBegun, onEditEnded, sendEdited };
}

async function forkBefore(known: Conversation, sessionId: string, { message, forkKey }: Editing): Promise<string> {
  const isAnew = message.epoch > 1 && (await epochBefore(known, sessionId, message)) < message.epoch;
  const fork = await answered(
    api.POST("/api/v1/sessions/{session_id}/fork", {
      params: { path: { session_id: sessionId }, header: { "idempotency-key": forkKey } },
      body: { at_turn: message.turn - 1 },
    }),
  );
  // The turn before lies before a reset: what was out of reach of the message stays out of reach.
  if (isAnew)
    await answered(api.POST("/api/v1/sessions/{session_id}/reset", { params: { path: { session_id: fork.id } } }));
  return fork.id;
}

/** In which epoch the turn before a message was; 0 if there was none. */
async function epochBefore(known: Conversation, sessionId: string, { turn, seq }: MessageOut): Promise<number> {
  const isBefore = (each: MessageOut) => each.turn < turn;
  const before = known.messages.findLast(isBefore);
  if (before !== undefined || !known.hasOlder) return before?.epoch ?? 0;
  const params = { path: { session_id: sessionId }, query: { before: known.messages[0]?.seq ?? seq, limit: 20 } };
  const page = await answered(api.GET("/api/v1/sessions/{session_id}/messages", { params }));
  return page.items.findLast(isBefore)?.epoch ?? 0;
}
