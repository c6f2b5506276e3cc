/** The one home of a session in the query cache: every feature reads it here. */
import { type QueryClient, useQuery } from "@tanstack/react-query";
import { answered, api } from "./client.ts";
import type { SessionOut } from "./schema.gen.ts";

/** Everything of one session begins with this, so that one line can say that it changed. */
export const sessionKey = (id: string) => ["session", id] as const;
const settingsKey = (id: string) => [...sessionKey(id), "settings"] as const;

export function useSession(id: string) {
  return useQuery({
    queryKey: settingsKey(id),
    queryFn: () => answered(api.GET("/api/v1/sessions/{session_id}", { params: { path: { session_id: id } } })),
  });
}

/** After a change that answered with the session as it is now. */
export function keepSession(queries: QueryClient, session: SessionOut): void {
  queries.setQueryData(settingsKey(session.id), session);
  void queries.invalidateQueries({ queryKey: ["sessions"] });
}

/** Something happened to it: read it again, where it is looked at. */
export function refreshSession(queries: QueryClient, id: string): Promise<void> {
  return queries.invalidateQueries({ queryKey: settingsKey(id) });
}
