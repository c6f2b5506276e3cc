/** What this feature asks the server for: pages of sessions, one session's past, and its relatives. */
import {
  type InfiniteData,
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api } from "../../api/client.ts";
import type { SessionOrder, SessionOut, SessionStatus, SettingsIn } from "../../api/schema.gen.ts";
import { keepSession, sessionKey } from "../../api/sessions.ts";
import { useToasts } from "../../ui/toasts.tsx";

export interface Filters {
  readonly text: string;
  readonly status: SessionStatus | "";
  readonly agent: string;
  readonly order: SessionOrder;
}

const PAGE = 100;
const RECENT = 6;
const RENEWED_EVERY_MS = 20_000;

/** Where somebody talked last: as many as the first page shows. */
export function useRecent() {
  return useQuery({
    queryKey: ["sessions", "recent"],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/sessions", { params: { query: { limit: RECENT, order: "active" } }, signal })),
    refetchInterval: RENEWED_EVERY_MS,
  });
}

const LISTS = ["sessions", "list"] as const;

function keepFirstPages(queries: QueryClient): void {
  queries.setQueriesData<InfiniteData<unknown>>(
    { queryKey: LISTS },
    (known) => known && { pages: known.pages.slice(0, 1), pageParams: known.pageParams.slice(0, 1) },
    { updatedAt: 0 },
  );
}

/** A list that is come back to begins at its first page again. */
export function useSessions({ text, status, agent, order }: Filters) {
  const queries = useQueryClient();
  useEffect(() => () => keepFirstPages(queries), [queries]);
  return useInfiniteQuery({
    queryKey: [...LISTS, { text, status, agent, order }],
    queryFn: ({ pageParam, signal }) =>
      answered(
        api.GET("/api/v1/sessions", {
          params: {
            query: {
              limit: PAGE,
              order,
              ...(pageParam !== "" && { cursor: pageParam }),
              ...(text !== "" && { text }),
              ...(status !== "" && { status }),
              ...(agent !== "" && { agent }),
            },
          },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    // Only the first page is asked for again by itself: a long list would ask for all of them.
    refetchOnWindowFocus: false,
    refetchInterval: (query) => (query.state.data?.pages.length === 1 ? RENEWED_EVERY_MS : false),
  });
}

export function useAgents() {
  return useQuery({
    queryKey: ["agents"],
    queryFn: () => answered(api.GET("/api/v1/agents")),
    staleTime: 60_000,
  });
}

export function useEvents(id: string) {
  return useInfiniteQuery({
    queryKey: [...sessionKey(id), "events"],
    queryFn: ({ pageParam }) =>
      answered(
        api.GET("/api/v1/sessions/{session_id}/events", {
          params: { path: { session_id: id }, query: { limit: 50, ...(pageParam !== 0 && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: (page) => (page.next == null ? undefined : Number(page.next)),
  });
}

type Verb = "pause" | "resume" | "close";

/** A change of a session's settings; what the server answers is what the page shows. */
export function useSessionChange(id: string) {
  const queries = useQueryClient();
  const { complain } = useToasts();
  const kept = { onSuccess: (session: SessionOut) => keepSession(queries, session), onError: complain };
  const path = { session_id: id };
  return {
    rename: useMutation({
      mutationFn: (title: string) => {
        const body: SettingsIn = { title };
        return answered(api.PATCH("/api/v1/sessions/{session_id}", { params: { path }, body }));
      },
      ...kept,
    }),
    change: useMutation({
      mutationFn: (verb: Verb) => {
        switch (verb) {
          case "pause":
            return answered(api.POST("/api/v1/sessions/{session_id}/pause", { params: { path } }));
          case "resume":
            return answered(api.POST("/api/v1/sessions/{session_id}/resume", { params: { path } }));
          case "close":
            return answered(api.POST("/api/v1/sessions/{session_id}/close", { params: { path }, body: {} }));
        }
      },
      ...kept,
    }),
    fork: useMutation({
      mutationFn: () => answered(api.POST("/api/v1/sessions/{session_id}/fork", { params: { path }, body: {} })),
      onSuccess: (fork) => keepSession(queries, fork),
      onError: complain,
    }),
    goOn: useMutation({
      mutationFn: (agent: string) => answered(api.POST("/api/v1/sessions", { body: { from_session_id: id, agent } })),
      onSuccess: (next) => keepSession(queries, next),
      onError: complain,
    }),
    erase: useMutation({
      mutationFn: () => answered(api.DELETE("/api/v1/sessions/{session_id}", { params: { path } })),
      onSuccess: () => {
        queries.removeQueries({ queryKey: sessionKey(id) });
        void queries.invalidateQueries({ queryKey: ["sessions"] });
      },
      onError: complain,
    }),
  };
}
