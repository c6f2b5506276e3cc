/** Sees to it that nothing of one user is left for the next. */
import type { QueryClient } from "@tanstack/react-query";
import { keepCsrf } from "./client.ts";
import type { MeOut } from "./schema.gen.ts";

export const ME = ["me"] as const;

const OWNER = "turnkeeper.owner";
const onLeft = new Set<() => void>();

/** What waits outside the query cache is dropped by `forget` whenever somebody leaves. */
export function whenLeft(forget: () => void): void {
  onLeft.add(forget);
}

export function isSameUser(one: MeOut | null | undefined, other: MeOut | null | undefined): boolean {
  return one != null && other != null && nameOf(one) === nameOf(other);
}

/** From now on it is `who` that looks at this console; null is nobody. */
export function letIn(queries: QueryClient, who: MeOut | null): void {
  if (!isSameUser(queries.getQueryData<MeOut | null>(ME), who)) {
    for (const forget of onLeft) forget();
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] });
    queries.getMutationCache().clear();
  }
  greet(who);
  queries.setQueryData(ME, who);
}

/** What this tab keeps over a reload belongs to one user: it waits for the same one, and goes when another comes. */
export function greet(who: MeOut | null): void {
  keepCsrf(who?.csrf);
  if (who === null || sessionStorage.getItem(OWNER) === nameOf(who)) return;
  sessionStorage.clear();
  sessionStorage.setItem(OWNER, nameOf(who));
}

function nameOf({ tenant, user }: MeOut): string {
  return JSON.stringify([tenant, user]);
}

const tabs = new BroadcastChannel("turnkeeper.door");

/** All tabs of a browser share its cookie: the others are told that it is another one now. */
export function tellOtherTabs(): void {
  tabs.postMessage(null);
}

/** Calls `listener` when another tab has logged in or out; returns how to stop that. */
export function whenToldByAnotherTab(listener: () => void): () => void {
  tabs.addEventListener("message", listener);
  return () => tabs.removeEventListener("message", listener);
}
