import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { addresses } from "../../addresses.ts";
import { api } from "../../api/client.ts";
import type { useLayout } from "../../api/layout.ts";
import { may, useMe } from "../../api/me.ts";
import type { AttachmentOut, SessionOut } from "../../api/schema.gen.ts";
import { refreshSession } from "../../api/sessions.ts";
import { useToasts } from "../../ui/toasts.tsx";
import type { ChatActions } from "./actions.ts";
import { Announcer } from "./announcer.tsx";
import { Aside, useAside } from "./aside.tsx";
import css from "./chat.module.css";
import { ChatBar } from "./chat-bar.tsx";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { AboveComposer } from "./composer-notes.tsx";
import type { Conversation } from "./conversation.ts";
import { useEditing } from "./editing.ts";
import { linesOf } from "./lines.ts";
import { MessageList } from "./message-list.tsx";
import { type Returned, useOutbox } from "./outbox.ts";
import {
  conversationKey,
  conversationOptions,
  keepAnswer,
  refreshRun,
  useLive,
  useOlder,
  useOrigins,
} from "./queries.ts";
import { askingIn, isTaken, lastSaid, rowsOf, runningIn } from "./rows.ts";
import type { Accepted, NewMessage, Wish } from "./sending.ts";
import { Standing, Unsent, useExpiry } from "./standing.tsx";

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
  const { data: who } = useMe();
  const { complain } = useToasts();
  const composer = useRef<ComposerHandle>(null);
  const [unsent, setUnsent] = useState<string | null>(null);
  const [isElsewhere, setElsewhere] = useState<string | null>(null);
  const line = useLive(id);
  const { readOlder, isReading } = useOlder(id);
  useExpiry(session);
  const origins = useOrigins(session);
  const aside = useAside(session, layout);

  const isOver = session.status === "closed" || session.status === "expired";
  const canWrite = !isOver && may(who, "sessions:write");
  const running = runningIn(known);
  const asking = askingIn(known);
  const answers = asking !== undefined && isElsewhere !== asking.id ? asking : undefined;

  const onAccepted = useCallback(
    async ({ sessionId, runId }: Accepted) => {
      if (sessionId === id)
        return refreshRun(queries, id, runId).catch(() => queries.invalidateQueries({ queryKey: conversationKey(id) }));
      await queries.prefetchQuery(conversationOptions(queries, sessionId));
      await navigate(addresses.session(sessionId));
    },
    [queries, id, navigate],
  );
  const onReturned = useCallback(({ text, attachments, problem }: Returned) => {
    setUnsent(text);
    composer.current?.takeBack(text, attachments, problem);
  }, []);
  const { outgoing, send } = useOutbox({ place: id, onAccepted, onReturned });
  const say = useCallback(
    async (message: NewMessage) => {
      try {
        // Whoever looks at a session means this one, and none that takes its place.
        return await send({ ...message, wish: { session_id: id, on_missing: "error", ...message.wish } });
      } catch (refused) {
        setUnsent(message.text);
        void refreshSession(queries, id);
        throw refused;
      }
    },
    [send, id, queries],
  );

  const { editing, onEditBegun, onEditEnded, sendEdited } = useEditing(known, session.id, composer, send);
  const onSent = async (text: string, attachments: readonly AttachmentOut[]) => {
    if (editing !== null) return sendEdited(editing, text, attachments);
    const wish: Wish = answers === undefined ? {} : { answers: answers.id };
    await say({ text, attachments, wish });
    if (answers !== undefined) keepAnswer(queries, id, answers.id, text);
  };
  const stopping = useMutation({
    mutationFn: (runId: string) => api.POST("/api/v1/runs/{run_id}/cancel", { params: { path: { run_id: runId } } }),
    onError: complain,
  });
  const actions = useMemo<ChatActions>(
    () => ({
      ...(canWrite && {
        onEditBegun,
        onRetried: ({ said }) => {
          const text = said.map((each) => each.text).join("\n");
          say({ text, attachments: said.flatMap((each) => each.attachments), wish: {} }).catch(complain);
        },
      }),
      originOf: ({ turn }) => origins.get(turn),
      approvalOf: (run) => known.approvals.find((approval) => approval.run_id === run.id),
      onDecided: async (approval, decision) => {
        await api.POST("/api/v1/approvals/{approval_id}/decide", {
          params: { path: { approval_id: approval.id } },
          body: { decision },
        });
      },
    }),
    [canWrite, onEditBegun, say, complain, origins, known.approvals],
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
  const onPlaceChanged = useCallback((at: number | null) => (canWrite ? keep({ at }) : undefined), [keep, canWrite]);
  const onFormAnswered = (text: string, params: Readonly<Record<string, unknown>>) => {
    say({ text, attachments: [], wish: { params: { ...params } } }).catch(complain);
  };
  const above: ReactNode = (
    <AboveComposer
      session={session}
      isAnswering={running !== undefined}
      asking={answers}
      editing={editing?.message ?? null}
      onEditEnded={onEditEnded}
      onElsewhere={() => setElsewhere(answers?.id ?? null)}
    />
  );
  return (
    <div className={css.chat}>
      <div className={css.talk}>
        <ChatBar session={session} aside={aside} />
        <Standing session={session} line={line} />
        {isOver && unsent !== null && <Unsent text={unsent} />}
        <MessageList
          lines={lines}
          sessionId={id}
          actions={actions}
          hasOlder={known.hasOlder}
          isReadingOlder={isReading}
          onTopNear={readOlder}
          sent={outgoing.at(-1)?.requestId}
          startAt={startAt}
          onPlaceChanged={onPlaceChanged}
        />
        {lines.length === 0 && (
          <p className={css.empty}>Nothing was said here yet{canWrite ? ". Write the first message below." : "."}</p>
        )}
        {canWrite && (
          <Composer
            ref={composer}
            draft={typeof layout.layout.draft === "string" ? layout.layout.draft : ""}
            onDraftChanged={(draft) => keep({ draft })}
            onSent={onSent}
            canAttach={may(who, "artifacts:write")}
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
      <Aside session={session} state={aside} onAnswered={canWrite ? onFormAnswered : undefined} />
      <Announcer messages={known.messages} />
    </div>
  );
}
