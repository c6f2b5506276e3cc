/** What the page asks the server for, and what it asks it to change. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answered, api } from "../../api/client.ts";
import type { operations, SessionOut, UnitOut } from "../../api/schema.gen.ts";
import { keepSession, sessionKey } from "../../api/sessions.ts";

export type UnitChange = operations["edit_unit"]["requestBody"]["content"]["application/json"];

const PAGE = 200;
/** A session holds some hundred units; what was replaced and forgotten comes on top. */
const MOST_PAGES = 25;

/** All units, superseded and forgotten ones too, so that chains are whole. */
export function useUnits(sessionId: string, allEpochs: boolean) {
  return useQuery({
    queryKey: [...sessionKey(sessionId), "units", allEpochs],
    queryFn: async () => {
      const units: UnitOut[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const found = await answered(
          api.GET("/api/v1/sessions/{session_id}/units", {
            params: {
              path: { session_id: sessionId },
              query: { limit: PAGE, all_epochs: allEpochs, ...(cursor !== undefined && { cursor: Number(cursor) }) },
            },
          }),
        );
        units.push(...found.items);
        if (found.next == null) break;
        cursor = found.next;
      }
      return units;
    },
  });
}

/** What changes units changes runs and outputs as well: all of the session is asked for again. */
function useRenewal(sessionId: string) {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: sessionKey(sessionId) });
}

export function useImport(sessionId: string) {
  const onSuccess = useRenewal(sessionId);
  return useMutation({
    mutationFn: (body: { readonly text: string; readonly format: "text" | "units"; readonly name?: string }) =>
      answered(api.POST("/api/v1/sessions/{session_id}/units", { params: { path: { session_id: sessionId } }, body })),
    onSuccess,
  });
}

export function useEdit(sessionId: string, unitId: string) {
  const onSuccess = useRenewal(sessionId);
  return useMutation({
    mutationFn: (change: UnitChange) =>
      answered(
        api.PATCH("/api/v1/sessions/{session_id}/units/{unit_id}", {
          params: { path: { session_id: sessionId, unit_id: unitId } },
          body: change,
        }),
      ),
    onSuccess,
  });
}

export function useForget(sessionId: string, unitId: string) {
  const onSuccess = useRenewal(sessionId);
  return useMutation({
    mutationFn: () =>
      answered(
        api.DELETE("/api/v1/sessions/{session_id}/units/{unit_id}", {
          params: { path: { session_id: sessionId, unit_id: unitId } },
        }),
      ),
    onSuccess,
  });
}

export function useBases() {
  return useQuery({
    queryKey: ["bases"],
    queryFn: () => answered(api.GET("/api/v1/kbs", { params: { query: { limit: PAGE } } })),
  });
}

export function useBase(baseId: string) {
  return useQuery({
    queryKey: ["bases", baseId],
    queryFn: () => answered(api.GET("/api/v1/kbs/{base_id}", { params: { path: { base_id: baseId } } })),
  });
}

export function useBaseUnits(baseId: string) {
  return useQuery({
    queryKey: ["bases", baseId, "units"],
    queryFn: () =>
      answered(
        api.GET("/api/v1/kbs/{base_id}/units", { params: { path: { base_id: baseId }, query: { limit: PAGE } } }),
      ),
  });
}

export function useSources(baseId: string) {
  return useQuery({
    queryKey: ["bases", baseId, "sources"],
    queryFn: () =>
      answered(
        api.GET("/api/v1/kbs/{base_id}/sources", { params: { path: { base_id: baseId }, query: { limit: PAGE } } }),
      ),
  });
}

export function useSource(baseId: string, sourceId: string) {
  return useQuery({
    queryKey: ["bases", baseId, "sources", sourceId],
    queryFn: () =>
      answered(
        api.GET("/api/v1/kbs/{base_id}/sources/{source_id}", {
          params: { path: { base_id: baseId, source_id: sourceId } },
        }),
      ),
  });
}

/** Mounting again brings it up to date; nothing is done if somebody else changed the session meanwhile. */
export function useMounting(session: SessionOut) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ baseId, isWanted }: { readonly baseId: string; readonly isWanted: boolean }) => {
      const params = {
        path: { session_id: session.id, base_id: baseId },
        header: { "if-match": `"${session.version}"` },
      };
      const path = "/api/v1/sessions/{session_id}/mounts/{base_id}" as const;
      return answered(isWanted ? api.PUT(path, { params }) : api.DELETE(path, { params }));
    },
    onSuccess: (changed) => keepSession(queries, changed),
    onSettled: () => queries.invalidateQueries({ queryKey: sessionKey(session.id) }),
  });
}
