import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { addresses } from "../../addresses.ts";
import { answered, api } from "../../api/client.ts";
import type { useLayout } from "../../api/layout.ts";
import type { ArtifactOut, MessageOut, SessionOut } from "../../api/schema.gen.ts";
import { refreshSession } from "../../api/sessions.ts";
import { useToasts } from "../../ui/toasts.tsx";
import type { ChatActions } from "./actions.ts";
import { Announcer } from "./announcer.tsx";
import { Aside, useAside } from "./aside.tsx";
import { attachmentOf } from "./attachments.ts";
import css from "./chat.module.css";
import { ChatBar } from "./chat-bar.tsx";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { AboveComposer } from "./composer-notes.tsx";
import type { Conversation } from "./conversation.ts";
import { linesOf } from "./lines.ts";
import { MessageList } from "./message-list.tsx";
import { conversationOptions, keepAnswer, refreshRun, useLive, useOlder } from "./queries.ts";
import { askingIn, isTaken, lastSaid, rowsOf, runningIn } from "./rows.ts";
import { type Accepted, type NewMessage, newRequestId, useOutbox, type Wish } from "./sending.ts";
import { Standing, useExpiry } from "./standing.tsx";

interface ChatProps {
  readonly session: SessionOut;
  readonly known: Conversation;
  readonly layout: ReturnType<typeof useLayout>;
  /** The number of the message to begin at; null begins at the end. */
  readonly startAt: number | null;
}

/** A session as a conversation: what was said, what is being said, and a place to say more. */
export function Chat({ session, known, layout, startAt }: ChatProps) {
  const { id } = session;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { tell, complain } = useToasts();
  const composer = useRef<ComposerHandle>(null);
  const [editing, setEditing] = useState<MessageOut | null>(null);
  const [isElsewhere, setElsewhere] = useState<string | null>(null);
  const { isCut } = useLive(id);
  const { readOlder, isReading } = useOlder(id);
  useExpiry(session);
  const aside = useAside(session, layout);

  const isOver = session.status === "closed" || session.status === "expired";
  const running = runningIn(known);
  const asking = askingIn(known);
  const answers = asking !== undefined && isElsewhere !== asking.id ? asking : undefined;

  const onAccepted = useCallback(
    async ({ sessionId, runId }: Accepted) => {
      if (sessionId === id) return refreshRun(queries, id, runId);
      await queries.prefetchQuery(conversationOptions(queries, sessionId));
      await navigate(addresses.session(sessionId));
    },
    [queries, id, navigate],
  );
  const { outgoing, send } = useOutbox(onAccepted);
  const say = useCallback(
    async (message: NewMessage) => {
      try {
        // Whoever looks at a session means this one, and none that takes its place.
        return await send({ ...message, wish: { session_id: id, on_missing: "error", ...message.wish } });
      } catch (refused) {
        void refreshSession(queries, id);
        throw refused;
      }
    },
    [send, id, queries],
  );

  const edit = async (message: MessageOut, text: string, attachments: readonly ArtifactOut[]) => {
    const fork = await answered(
      api.POST("/api/v1/sessions/{session_id}/fork", {
        params: { path: { session_id: id }, header: { "idempotency-key": newRequestId() } },
        body: { at_turn: message.turn - 1 },
      }),
    );
    setEditing(null);
    tell("This goes on in a fork. The session it came from stays as it is.");
    await send({
      text,
      attachments: attachments.map(attachmentOf),
      wish: { session_id: fork.id, on_missing: "error" },
    });
  };
  const onSent = async (text: string, attachments: readonly ArtifactOut[]) => {
    if (editing !== null) return edit(editing, text, attachments);
    const wish: Wish = answers === undefined ? {} : { answers: answers.id };
    await say({ text, attachments: attachments.map(attachmentOf), wish });
    if (answers !== undefined) keepAnswer(queries, id, answers.id, text);
  };
  const onEditBegun = useCallback((message: MessageOut) => {
    setEditing(message);
    composer.current?.write(message.content);
  }, []);
  const onEditEnded = () => {
    if (editing === null) return;
    setEditing(null);
    composer.current?.write("");
  };

  const stopping = useMutation({
    mutationFn: (runId: string) => api.POST("/api/v1/runs/{run_id}/cancel", { params: { path: { run_id: runId } } }),
    onError: complain,
  });
  const actions = useMemo<ChatActions>(
    () => ({
      ...(!isOver && {
        onEditBegun,
        onRetried: ({ said }) => {
          const text = said.map((each) => each.text).join("\n");
          say({ text, attachments: said.flatMap((each) => each.attachments), wish: {} }).catch(complain);
        },
      }),
      approvalOf: (run) => known.approvals.find((approval) => approval.run_id === run.id),
      onDecided: async (approval, decision) => {
        await api.POST("/api/v1/approvals/{approval_id}/decide", {
          params: { path: { approval_id: approval.id } },
          body: { decision },
        });
      },
    }),
    [isOver, onEditBegun, say, complain, known.approvals],
  );

  const rows = useMemo(() => rowsOf(known), [known]);
  const lines = useMemo(
    () =>
      linesOf(
        rows,
        known.epoch,
        outgoing.filter((each) => !isTaken(known, each)),
      ),
    [rows, known, outgoing],
  );
  const { keep } = layout;
  const onPlaceChanged = useCallback((at: number | null) => (isOver ? undefined : keep({ at })), [keep, isOver]);
  const onFormAnswered = (text: string, params: Readonly<Record<string, unknown>>) => {
    say({ text, attachments: [], wish: { params: { ...params } } }).catch(complain);
  };
  const above: ReactNode = (
    <AboveComposer
      session={session}
      isAnswering={running !== undefined}
      asking={answers}
      editing={editing}
      onEditEnded={onEditEnded}
      onElsewhere={() => setElsewhere(answers?.id ?? null)}
    />
  );
  return (
    <div className={css.chat}>
      <div className={css.talk}>
        <ChatBar session={session} aside={aside} />
        <Standing session={session} isCut={isCut} />
        <MessageList
          lines={lines}
          sessionId={id}
          actions={actions}
          hasOlder={known.hasOlder}
          isReadingOlder={isReading}
          onTopNear={readOlder}
          startAt={startAt}
          onPlaceChanged={onPlaceChanged}
        />
        {lines.length === 0 && <p className={css.empty}>Nothing was said here yet. Write the first message below.</p>}
        {!isOver && (
          <Composer
            ref={composer}
            draft={typeof layout.layout.draft === "string" ? layout.layout.draft : ""}
            onDraftChanged={(draft) => keep({ draft })}
            onSent={onSent}
            onEmptyUp={() => {
              const last = lastSaid(known);
              if (last !== undefined) onEditBegun(last);
            }}
            onEscaped={onEditEnded}
            onStopped={running === undefined ? undefined : () => stopping.mutate(running.id)}
            sendName={editing !== null ? "Send in a fork" : answers !== undefined ? "Answer" : "Send"}
            placeholder={answers?.question ?? "Write a message"}
            above={above}
          />
        )}
      </div>
      <Aside session={session} state={aside} onAnswered={isOver ? undefined : onFormAnswered} />
      <Announcer messages={known.messages} />
    </div>
  );
}
