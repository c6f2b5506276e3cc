/** Approvals in the query cache: all of them begin alike, so that the count in the menu is renewed with them. */
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answered, api } from "../../api/client.ts";
import type { ApprovalOut, DecisionIn } from "../../api/schema.gen.ts";
import { sessionKey } from "../../api/sessions.ts";
import { useToasts } from "../../ui/toasts.tsx";

const APPROVALS = ["approvals"] as const;
const EVERY_MS = 5_000;
const MOST_PENDING = 100;

export function usePending() {
  return useQuery({
    queryKey: [...APPROVALS, "pending"],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/approvals", { params: { query: { status: "pending", limit: MOST_PENDING } }, signal })),
    refetchInterval: EVERY_MS,
  });
}

/** Pending ones are among them: the list is one walk through all, newest first. */
export function useAllApprovals() {
  return useInfiniteQuery({
    queryKey: [...APPROVALS, "all"],
    queryFn: ({ pageParam, signal }) =>
      answered(
        api.GET("/api/v1/approvals", {
          params: { query: { limit: 50, ...(pageParam !== "" && { cursor: pageParam }) } },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: (query) => (query.state.data?.pages.length === 1 ? EVERY_MS : false),
  });
}

/** The run that waits goes on at once, so its session is read again too. */
export function useDecision(approval: ApprovalOut) {
  const queries = useQueryClient();
  const { tell, complain } = useToasts();
  return useMutation({
    mutationFn: (decision: DecisionIn) =>
      answered(
        api.POST("/api/v1/approvals/{approval_id}/decide", {
          params: { path: { approval_id: approval.id } },
          body: decision,
        }),
      ),
    onSuccess: (decided) => tell(decided.status === "approved" ? "Approved. The run goes on." : "Rejected."),
    onError: complain,
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: APPROVALS });
      void queries.invalidateQueries({ queryKey: sessionKey(approval.session_id) });
    },
  });
}
