/** What the page asks the server for: the runs of a session, and everything about one of them. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api } from "../../api/client.ts";
import { follow } from "../../api/live.ts";
import type { ExplanationOut } from "../../api/schema.gen.ts";
import { sessionKey } from "../../api/sessions.ts";
import { isOpen } from "./facts.ts";

const whyKey = (sessionId: string) => [...sessionKey(sessionId), "why"] as const;
const PAGE = 50;
const ASKED_EVERY_MS = 3_000;

/** Newest first; asked for again while one of them is not over. */
export function useRuns(sessionId: string) {
  return useInfiniteQuery({
    queryKey: [...whyKey(sessionId), "runs"],
    queryFn: ({ pageParam }) =>
      answered(
        api.GET("/api/v1/sessions/{session_id}/explanations", {
          params: { path: { session_id: sessionId }, query: { limit: PAGE, ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.items.some((run) => isOpen(run.status))) ? ASKED_EVERY_MS : false,
  });
}

/** The newest runs, of which the open ones have no Explanation yet. */
export function useNewestRuns(sessionId: string) {
  return useQuery({
    queryKey: [...whyKey(sessionId), "newest"],
    queryFn: () =>
      answered(
        api.GET("/api/v1/sessions/{session_id}/runs", {
          params: { path: { session_id: sessionId }, query: { limit: PAGE } },
        }),
      ),
    refetchInterval: ({ state }) => (state.data?.items.some((run) => isOpen(run.status)) ? ASKED_EVERY_MS : false),
  });
}

export function useExplanation(sessionId: string, runId: string) {
  return useQuery({
    queryKey: [...whyKey(sessionId), runId, "explanation"],
    queryFn: async () =>
      (await answered(
        api.GET("/api/v1/sessions/{session_id}/explanations/{run_id}", {
          params: { path: { session_id: sessionId, run_id: runId } },
        }),
      )) as ExplanationOut,
  });
}

export function useRun(sessionId: string, runId: string) {
  return useQuery({
    queryKey: [...whyKey(sessionId), runId, "run"],
    queryFn: () => answered(api.GET("/api/v1/runs/{run_id}", { params: { path: { run_id: runId } } })),
  });
}

export function useEffects(sessionId: string, runId: string) {
  return useQuery({
    queryKey: [...whyKey(sessionId), runId, "effects"],
    queryFn: () => answered(api.GET("/api/v1/runs/{run_id}/effects", { params: { path: { run_id: runId } } })),
  });
}

export function useCheckpoints(sessionId: string, runId: string) {
  return useQuery({
    queryKey: [...whyKey(sessionId), runId, "checkpoints"],
    queryFn: () => answered(api.GET("/api/v1/runs/{run_id}/checkpoints", { params: { path: { run_id: runId } } })),
  });
}

/** While a run is open its feed is followed; when it tells that something was decided, all of it is asked for again. */
export function useRenewal(sessionId: string, runId: string, status: string | undefined): void {
  const queries = useQueryClient();
  const isLive = status !== undefined && isOpen(status);
  useEffect(() => {
    if (!isLive) return;
    const stop = new AbortController();
    void follow({
      path: `/api/v1/runs/${encodeURIComponent(runId)}/feed`,
      after: 0,
      onFrames: (frames) => {
        if (frames.some(({ type }) => type.startsWith("run.") && type !== "run.accepted"))
          void queries.invalidateQueries({ queryKey: whyKey(sessionId) });
      },
      signal: stop.signal,
    });
    return () => stop.abort();
  }, [queries, sessionId, runId, isLive]);
}
