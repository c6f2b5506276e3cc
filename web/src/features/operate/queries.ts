/** What the overview of a running house asks the server for. */
import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answered, api, Problem } from "../../api/client.ts";
import type { RunOut, Span } from "../../api/schema.gen.ts";
import { useToasts } from "../../ui/toasts.tsx";
import { OPERATE, useEveryMs } from "./refreshing.tsx";

const MOST_RUNS = 200;
const PAGE = 100;

export interface LiveRuns {
  readonly runs: readonly RunOut[];
  /** There are more than are told. */
  readonly isCut: boolean;
}

/** A page may be shorter than asked for and still have another behind it. */
async function liveRuns(signal: AbortSignal): Promise<LiveRuns> {
  const runs: RunOut[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await answered(
      api.GET("/api/v1/runs", {
        params: { query: { status: ["live"], limit: PAGE, ...(cursor != null && { cursor }) } },
        signal,
      }),
    );
    runs.push(...page.items);
    cursor = page.next;
  } while (cursor != null && runs.length < MOST_RUNS);
  return { runs, isCut: cursor != null };
}

export function useLiveRuns() {
  return useQuery({
    queryKey: [...OPERATE, "runs"],
    queryFn: ({ signal }) => liveRuns(signal),
    refetchInterval: useEveryMs(),
  });
}

const MOST_FAILED = 10;

/** Runs of the last day that came to no good end, in whatever session; among many runs only the newest are looked at. */
export function useFailedRuns() {
  return useQuery({
    queryKey: [...OPERATE, "failed"],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/runs", {
          params: { query: { status: ["failed", "timed_out", "abandoned"], limit: MOST_FAILED, since: daysAgo(1) } },
          signal,
        }),
      ),
    refetchInterval: useEveryMs(),
  });
}

export function useNodes(isWanted: boolean) {
  return useQuery({
    queryKey: [...OPERATE, "nodes"],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/nodes", { signal })),
    refetchInterval: useEveryMs(),
    enabled: isWanted,
  });
}

/** Whether the node that answers takes messages; why not, if it does not. */
export function useReadiness() {
  return useQuery({
    queryKey: [...OPERATE, "readiness"],
    queryFn: async ({ signal }) => {
      try {
        const told = await answered(api.GET("/readyz", { signal }));
        return { isReady: true, says: `version ${told.version}` };
      } catch (problem) {
        if (problem instanceof Problem && problem.status === 503) return { isReady: false, says: problem.message };
        throw problem;
      }
    },
    refetchInterval: useEveryMs(),
  });
}

const RECENT = 8;

export function useLiveSessions() {
  return useQuery({
    queryKey: [...OPERATE, "sessions"],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/sessions", {
          params: { query: { status: "active", order: "active", limit: RECENT } },
          signal,
        }),
      ),
    refetchInterval: useEveryMs(),
  });
}

/** What should have gone out and did not, or of which nobody knows. */
export function useUndelivered(isWanted: boolean) {
  return useQuery({
    queryKey: [...OPERATE, "deliveries"],
    queryFn: async ({ signal }) => {
      const [failed, unknown] = await Promise.all(
        (["failed", "unknown"] as const).map((status) =>
          answered(api.GET("/api/v1/deliveries", { params: { query: { status, limit: 20 } }, signal })),
        ),
      );
      return [...(failed?.items ?? []), ...(unknown?.items ?? [])];
    },
    refetchInterval: useEveryMs(),
    enabled: isWanted,
  });
}

export function useTraffic() {
  return useQuery({
    queryKey: [...OPERATE, "traffic"],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/traffic", { signal })),
    refetchInterval: useEveryMs(),
  });
}

const SPAN_DAYS = { hour: 1 / 24, day: 1 } as const;

/** So many days up to now: the server tells whole hours or days, and the one that is not over is among them. */
export function useUsage(by: Span, days: number) {
  return useQuery({
    queryKey: [...OPERATE, "usage", by, days],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/usage", { params: { query: { by, since: daysAgo(days - SPAN_DAYS[by]) } }, signal })),
    refetchInterval: useEveryMs(),
  });
}

export function useRefusals(days: number) {
  return useQuery({
    queryKey: [...OPERATE, "refusals", days],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/audit/reasons", { params: { query: { since: daysAgo(days) } }, signal })),
    refetchInterval: useEveryMs(),
  });
}

export interface AuditFilters {
  readonly outcome: "all" | "refused" | "allowed";
  readonly reason: string;
  readonly user: string;
  readonly verb: string;
  readonly days: number;
}

export function useAudit({ outcome, reason, user, verb, days }: AuditFilters) {
  const everyMs = useEveryMs();
  return useInfiniteQuery({
    queryKey: [...OPERATE, "audit", { outcome, reason, user, verb, days }],
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }) =>
      answered(
        api.GET("/api/v1/audit", {
          params: {
            query: {
              limit: 25,
              since: daysAgo(days),
              ...(outcome !== "all" && { refused: outcome === "refused" }),
              ...(reason !== "" && { outcome: reason }),
              ...(user !== "" && { user }),
              ...(verb !== "" && { verb }),
              ...(pageParam !== "" && { cursor: pageParam }),
            },
          },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    // Whoever reads further down keeps their place: only a first page is asked for again by itself.
    refetchInterval: (query) => (query.state.data?.pages.length === 1 ? everyMs : false),
  });
}

export function useLimits() {
  return useQuery({
    queryKey: [...OPERATE, "limits"],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/limits", { signal })),
    refetchInterval: useEveryMs(),
  });
}

export function useStorage(isWanted: boolean) {
  return useQuery({
    queryKey: [...OPERATE, "storage"],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/storage", { signal })),
    refetchInterval: useEveryMs(),
    enabled: isWanted,
  });
}

/** What an operator does about what is stuck; the page is read again right after. */
export function useRepairs() {
  const queries = useQueryClient();
  const { tell, complain } = useToasts();
  const renew = () => void queries.invalidateQueries({ queryKey: OPERATE });
  return {
    cancel: useMutation({
      mutationFn: (runId: string) =>
        answered(api.POST("/api/v1/runs/{run_id}/cancel", { params: { path: { run_id: runId } } })),
      onSuccess: () => {
        tell("The run is being cancelled. What it did stays on record.");
        renew();
        // Its end may still be on its way.
        setTimeout(renew, 1_000);
      },
      onError: complain,
    }),
    retry: useMutation({
      mutationFn: (deliveryId: string) =>
        answered(api.POST("/api/v1/deliveries/{delivery_id}/retry", { params: { path: { delivery_id: deliveryId } } })),
      onSuccess: () => {
        tell("It is sent again.");
        renew();
      },
      onError: complain,
    }),
  };
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString();
}
