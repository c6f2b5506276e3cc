/** The saved look of a session's pages, kept on the server so that another device finds it; losing it loses nothing else. */
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { answered, api, ask } from "./client.ts";
import { whenLeft } from "./door.ts";
import { may, useMe } from "./me.ts";

/** Each feature keeps its own names in it and leaves those of others alone. */
export type Layout = Readonly<Record<string, unknown>>;

const SAVED_AFTER_MS = 1_000;
const waiting = new Map<string, { readonly layout: Layout; readonly timer: ReturnType<typeof setTimeout> }>();

/** Not among what belongs to the session: reading that again must not undo what waits to be saved. */
const layoutKey = (id: string) => ["layout", id] as const;

interface Kept {
  readonly layout: Layout;
  /** Whether the server has told it; until then nothing is kept, so that nothing is overwritten. */
  readonly isReady: boolean;
  /** Puts some names into the layout: at once for this page, a moment later on the server, for those who may write. */
  readonly keep: (part: Layout) => void;
}

export function useLayout(id: string): Kept {
  const queries = useQueryClient();
  const kept = useQuery({
    queryKey: layoutKey(id),
    queryFn: () => readLayout(id),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isSaved = may(useMe().data, "sessions:write");
  const keep = useCallback((part: Layout) => keepLayout(queries, id, part, isSaved), [queries, id, isSaved]);
  return { layout: kept.data ?? {}, isReady: kept.data !== undefined, keep };
}

async function readLayout(id: string): Promise<Layout> {
  const params = { path: { session_id: id }, query: { messages: 1 } };
  const view = await answered(api.GET("/api/v1/sessions/{session_id}/resume-view", { params }));
  return isLayout(view.layout) ? view.layout : {};
}

function isLayout(value: unknown): value is Layout {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function keepLayout(queries: QueryClient, id: string, part: Layout, isSaved: boolean): void {
  const before = queries.getQueryData<Layout>(layoutKey(id));
  if (before === undefined || Object.entries(part).every(([name, value]) => isSame(before[name], value))) return;
  const layout = { ...before, ...part };
  queries.setQueryData(layoutKey(id), layout);
  if (!isSaved) return;
  clearTimeout(waiting.get(id)?.timer);
  waiting.set(id, { layout, timer: setTimeout(() => save(id), SAVED_AFTER_MS) });
}

/** A layout that could not be saved is convenience lost: nobody is bothered with it. */
function save(id: string, isLeaving = false): void {
  const saved = waiting.get(id);
  if (saved === undefined) return;
  clearTimeout(saved.timer);
  waiting.delete(id);
  void ask(`/api/v1/sessions/${encodeURIComponent(id)}/layout`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ layout: saved.layout }),
    keepalive: isLeaving,
  }).catch(() => {});
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

window.addEventListener("pagehide", () => {
  for (const id of [...waiting.keys()]) save(id, true);
});

whenLeft(() => {
  for (const { timer } of waiting.values()) clearTimeout(timer);
  waiting.clear();
});
