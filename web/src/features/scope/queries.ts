/** What the page asks the server for, and what it asks it to change. */
import { useInfiniteQuery, useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { answered, api } from "../../api/client.ts";
import type { ChainLinkOut, LayerOut, MountsIn, SessionOut } from "../../api/schema.gen.ts";
import { keepSession, sessionKey } from "../../api/sessions.ts";

const PAGE = 100;

export function useTools(sessionId: string) {
  return useQuery({
    queryKey: [...sessionKey(sessionId), "tools"],
    queryFn: () =>
      answered(api.GET("/api/v1/sessions/{session_id}/tools", { params: { path: { session_id: sessionId } } })),
  });
}

/** What came out of the session, in the order of its feed. */
export function useOutputs(sessionId: string) {
  return useInfiniteQuery({
    queryKey: [...sessionKey(sessionId), "outputs"],
    queryFn: ({ pageParam }) =>
      answered(
        api.GET("/api/v1/sessions/{session_id}/outputs", {
          params: {
            path: { session_id: sessionId },
            query: { limit: PAGE, ...(pageParam !== "" && { cursor: Number(pageParam) }) },
          },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

export function usePointers() {
  return useQuery({
    queryKey: ["pointers"],
    queryFn: () => answered(api.GET("/api/v1/pointers", { params: { query: { limit: PAGE } } })),
  });
}

export function useBases() {
  return useQuery({
    queryKey: ["bases"],
    queryFn: () => answered(api.GET("/api/v1/kbs", { params: { query: { limit: PAGE } } })),
  });
}

/** What people call a pointer or a knowledge base; its id where it has no name. */
export function useNames(): (kind: string, id: string) => string {
  const pointers = usePointers().data?.items ?? [];
  const bases = useBases().data?.items ?? [];
  return (kind, id) => {
    const pointer = kind === "pointer" ? pointers.find((each) => each.id === id) : undefined;
    if (pointer !== undefined) return `${pointer.namespace}/${pointer.name}`;
    return (kind === "knowledge_base" && bases.find((base) => base.id === id)?.name) || id;
  };
}

/** The layers that a session inherited from, as they are now; one that may not be read is left out. */
export function useLayers(chain: readonly ChainLinkOut[]): readonly LayerOut[] {
  return useQueries({
    queries: chain
      .filter(({ level }) => level !== "agent" && level !== "session")
      .map(({ level, id }) => ({ queryKey: ["layers", level, id], queryFn: () => readLayer(level, id), retry: false })),
    combine: (found) => found.flatMap(({ data }) => (data === undefined ? [] : [data])),
  });
}

function readLayer(level: ChainLinkOut["level"], id: string): Promise<LayerOut> {
  const params = { path: { layer_id: id } };
  switch (level) {
    case "tenant":
      return answered(api.GET("/api/v1/tenants/{layer_id}", { params }));
    case "project":
      return answered(api.GET("/api/v1/projects/{layer_id}", { params }));
    default:
      return answered(api.GET("/api/v1/objectives/{layer_id}", { params }));
  }
}

/** Refused with `version_moved` when somebody else changed the session after it was read here. */
export function useMountChange(session: SessionOut) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (mounts: MountsIn) =>
      answered(
        api.PATCH("/api/v1/sessions/{session_id}", {
          params: { path: { session_id: session.id }, header: { "if-match": `"${session.version}"` } },
          body: { mounts },
        }),
      ),
    onSuccess: (changed) => keepSession(queries, changed),
    onSettled: () => queries.invalidateQueries({ queryKey: sessionKey(session.id) }),
  });
}

export function useRebase(session: SessionOut) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () =>
      answered(
        api.POST("/api/v1/sessions/{session_id}/rebase", {
          params: { path: { session_id: session.id }, header: { "if-match": `"${session.version}"` } },
        }),
      ),
    onSuccess: (changed) => keepSession(queries, changed),
    onSettled: () => queries.invalidateQueries({ queryKey: sessionKey(session.id) }),
  });
}
