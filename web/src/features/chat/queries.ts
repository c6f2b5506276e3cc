/** Reads the conversation of a session, follows it live, and asks for older parts of it. */
import { type QueryClient, queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { answered, api, type Problem } from "../../api/client.ts";
import { type Frame, follow, type LineState } from "../../api/live.ts";
import type { SessionOut } from "../../api/schema.gen.ts";
import { refreshSession, sessionKey } from "../../api/sessions.ts";
import type { Origin } from "./actions.ts";
import {
  type Conversation,
  conversationOf,
  refreshed,
  withAnswer,
  withMessages,
  withOlder,
  withRun,
} from "./conversation.ts";
import { applyFrames, newsIn } from "./frames.ts";

const FIRST_MESSAGES = 60;
const MORE_MESSAGES = 100;

export const conversationKey = (id: string) => [...sessionKey(id), "conversation"] as const;

/** The newest part of it; the feed keeps it up to date from then on. */
export function conversationOptions(queries: QueryClient, id: string) {
  return queryOptions({
    queryKey: conversationKey(id),
    queryFn: async (): Promise<Conversation> => {
      const path = { session_id: id };
      const view = await answered(
        api.GET("/api/v1/sessions/{session_id}/resume-view", { params: { path, query: { messages: FIRST_MESSAGES } } }),
      );
      const known = queries.getQueryData<Conversation>(conversationKey(id));
      return known === undefined ? conversationOf(view) : refreshed(known, view);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useConversation(id: string) {
  return useQuery(conversationOptions(useQueryClient(), id));
}

/** How the feed of a session stands. */
export interface LiveLine {
  readonly isCut: boolean;
  /** Why there is nothing to follow any more. */
  readonly refused: Problem | null;
}

/** Folds the feed into the conversation for as long as the page is open; tells how the line stands. */
export function useLive(id: string): LiveLine {
  const queries = useQueryClient();
  const [isCut, setCut] = useState(false);
  const [refused, setRefused] = useState<Problem | null>(null);
  useEffect(() => {
    const onLine = (state: LineState) => {
      if (state !== "connecting") setCut(state === "cut");
    };
    const leaving = new AbortController();
    const after = queries.getQueryData<Conversation>(conversationKey(id))?.seen ?? 0;
    void follow({
      path: `/api/v1/sessions/${encodeURIComponent(id)}/feed`,
      after,
      signal: leaving.signal,
      onLine,
      onFrames: (frames) => keepFrames(queries, id, frames),
      onRefused: setRefused,
    });
    return () => leaving.abort();
  }, [queries, id]);
  return { isCut, refused };
}

function keepFrames(queries: QueryClient, id: string, frames: readonly Frame[]): void {
  const known = queries.getQueryData<Conversation>(conversationKey(id));
  if (known === undefined) return;
  const news = newsIn(known, frames);
  queries.setQueryData(conversationKey(id), applyFrames(known, frames));
  const asked = news.runs.map((runId) => refreshRun(queries, id, runId));
  if (news.messages) asked.push(readNewMessages(queries, id));
  if (news.approvals) asked.push(readApprovals(queries, id));
  // The line was cut in between: all of it is read again when it is back.
  Promise.all(asked).catch(() => queries.invalidateQueries({ queryKey: conversationKey(id) }));
  if (news.session) {
    void refreshSession(queries, id);
    void queries.invalidateQueries({ queryKey: [...sessionKey(id), "intent"] });
  }
}

function change(queries: QueryClient, id: string, to: (known: Conversation) => Conversation): void {
  queries.setQueryData<Conversation>(conversationKey(id), (known) => (known === undefined ? known : to(known)));
}

export function keepAnswer(queries: QueryClient, id: string, runId: string, answer: string): void {
  change(queries, id, (known) => withAnswer(known, runId, answer));
}

/** Asks for what the feed does not tell of a run: what was said to it, and what took its place. */
export async function refreshRun(queries: QueryClient, id: string, runId: string): Promise<void> {
  const run = await answered(api.GET("/api/v1/runs/{run_id}", { params: { path: { run_id: runId } } }));
  change(queries, id, (known) => withRun(known, run));
  const newest = queries.getQueryData<Conversation>(conversationKey(id))?.messages.at(-1)?.turn ?? 0;
  if (run.turn !== null && run.turn > newest) await readNewMessages(queries, id);
}

async function readNewMessages(queries: QueryClient, id: string): Promise<void> {
  const known = queries.getQueryData<Conversation>(conversationKey(id));
  const cursor = known?.messages.at(-1)?.seq ?? 0;
  const page = await answered(
    api.GET("/api/v1/sessions/{session_id}/messages", {
      params: { path: { session_id: id }, query: { cursor, limit: 200 } },
    }),
  );
  change(queries, id, (before) => withMessages(before, page.items));
  if (page.next !== undefined) await readNewMessages(queries, id);
}

async function readApprovals(queries: QueryClient, id: string): Promise<void> {
  const query = { session_id: id, status: "pending" as const, limit: 50 };
  const page = await answered(api.GET("/api/v1/approvals", { params: { query } }));
  change(queries, id, (known) => ({ ...known, approvals: page.items }));
}

const MOST_ORIGINS = 200;

/** The runs that answered what a fork has from another session, by their turn; none where they are out of reach. */
export function useOrigins({ fork_of: from, fork_turn: until }: SessionOut): ReadonlyMap<number, Origin> {
  const { data } = useQuery({
    queryKey: [...sessionKey(from ?? ""), "origins"],
    enabled: from !== null,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () =>
      answered(
        api.GET("/api/v1/sessions/{session_id}/runs", {
          params: { path: { session_id: from ?? "" }, query: { limit: MOST_ORIGINS } },
        }),
      ),
  });
  return useMemo(() => {
    const shared = (data?.items ?? []).flatMap(({ id, agent, turn }) =>
      turn !== null && turn <= (until ?? 0) ? [[turn, { sessionId: from ?? "", runId: id, agent }] as const] : [],
    );
    return new Map(shared);
  }, [data, from, until]);
}

/** Puts older messages and runs in front, one page at a time. */
export function useOlder(id: string): { readonly readOlder: () => void; readonly isReading: boolean } {
  const queries = useQueryClient();
  const [isReading, setReading] = useState(false);
  const busy = useRef(false);
  const readOlder = useCallback(() => {
    const known = queries.getQueryData<Conversation>(conversationKey(id));
    if (busy.current || known?.hasOlder !== true) return;
    busy.current = true;
    setReading(true);
    olderOf(queries, id, known)
      .catch(() => {}) // The line to the server is cut; whoever scrolls again asks again.
      .finally(() => {
        busy.current = false;
        setReading(false);
      });
  }, [queries, id]);
  return { readOlder, isReading };
}

const MOST_PAGES_BACK = 20;

/** Reads as far back as the place where somebody looked last; false until it is there, or too far away. */
export function useBackTo(id: string, at: unknown): boolean {
  const queries = useQueryClient();
  const [isThere, setThere] = useState(false);
  useEffect(() => {
    let isLeft = false;
    const walk = async () => {
      for (let page = 0; page < MOST_PAGES_BACK && !isLeft; page += 1) {
        const known = queries.getQueryData<Conversation>(conversationKey(id));
        if (typeof at !== "number" || known?.hasOlder !== true || (known.messages[0]?.seq ?? 0) <= at) break;
        await olderOf(queries, id, known);
      }
    };
    walk()
      .catch(() => {}) // Then it begins at the end.
      .finally(() => setThere(true));
    return () => {
      isLeft = true;
    };
  }, [queries, id, at]);
  return isThere;
}

async function olderOf(queries: QueryClient, id: string, known: Conversation): Promise<void> {
  const path = { session_id: id };
  const before = known.messages[0]?.seq ?? 1;
  const [messages, runs] = await Promise.all([
    answered(
      api.GET("/api/v1/sessions/{session_id}/messages", {
        params: { path, query: { before, limit: MORE_MESSAGES } },
      }),
    ),
    runsBefore(id, known),
  ]);
  change(queries, id, (now) => withOlder(now, messages.items, runs, messages.next !== undefined));
}

async function runsBefore(id: string, known: Conversation) {
  if (known.oldestRun === null) return [];
  const query = { cursor: known.oldestRun, limit: MORE_MESSAGES };
  return (
    await answered(api.GET("/api/v1/sessions/{session_id}/runs", { params: { path: { session_id: id }, query } }))
  ).items;
}
