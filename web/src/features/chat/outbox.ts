/** Keeps messages until the server has taken them, each once: they outlive the page they were written on, and a reload. */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { ME } from "../../api/door.ts";
import { useMe } from "../../api/me.ts";
import type { MeOut } from "../../api/schema.gen.ts";
import { useToasts } from "../../ui/toasts.tsx";
import { type Accepted, isCut, type NewMessage, newRequestId, post } from "./sending.ts";

/** Where the first message of a session is written. */
export const NEW_CHAT = "new";

/** A message that the server has not taken yet. */
export interface Outgoing extends NewMessage {
  readonly requestId: string;
  /** The session it was written in, or NEW_CHAT. */
  readonly place: string;
  /** Nobody else may send it. */
  readonly user: string;
  /** Whether the line is cut; it is sent again when it is back. */
  readonly isStuck: boolean;
  /** The run that answers it, as soon as it is taken. */
  readonly runId: string | null;
}

/** A message that was refused after its page was left. */
export interface Returned extends NewMessage {
  readonly place: string;
  readonly user: string;
  readonly problem: unknown;
}

export type OnAccepted = (accepted: Accepted) => Promise<void> | void;

const KEPT_AS = "turnkeeper.outbox";
const PAUSE_MS = 2_000;

let letters: readonly Outgoing[] = [];
let returned: readonly Returned[] = [];
let isAwake = false;
const watchers = new Set<() => void>();
const openChats = new Map<string, OnAccepted>();

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

function keep(now: readonly Outgoing[]): void {
  letters = now;
  try {
    sessionStorage.setItem(KEPT_AS, JSON.stringify(now.filter(({ runId }) => runId === null)));
  } catch {
    // There is no room for it: then it outlives the page, but no reload.
  }
  for (const watcher of watchers) watcher();
}

function giveBack(now: readonly Returned[]): void {
  returned = now;
  for (const watcher of watchers) watcher();
}

function keptLetters(): readonly Outgoing[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT_AS) ?? "[]") as readonly Outgoing[];
  } catch {
    return [];
  }
}

const userOf = (who: MeOut | null | undefined): string | null => (who == null ? null : `${who.tenant}/${who.user}`);

/** Resolves when the message is safe, whatever the pages do with that news. Raises Problem when it is refused. */
async function deliver(queries: QueryClient, letter: Outgoing): Promise<Accepted> {
  const { requestId, place } = letter;
  const change = (to: Partial<Outgoing>) =>
    keep(letters.map((each) => (each.requestId === requestId ? { ...each, ...to } : each)));
  keep([...letters, letter]);
  try {
    const accepted = await taken(queries, letter, () => change({ isStuck: true }));
    change({ runId: accepted.runId });
    await tellChat(place, accepted);
    return accepted;
  } finally {
    keep(letters.filter((each) => each.requestId !== requestId));
  }
}

/** The message stays in sight until its chat has read it; if that fails, it is safe all the same. */
async function tellChat(place: string, accepted: Accepted): Promise<void> {
  try {
    await openChats.get(place)?.(accepted);
  } catch {
    // The feed of the chat tells it.
  }
}

/** Sends it as often as it takes, always under the same name. */
async function taken(queries: QueryClient, letter: Outgoing, onStuck: () => void): Promise<Accepted> {
  for (;;) {
    const user = userOf(queries.getQueryData<MeOut | null>(ME));
    if (user !== null && user !== letter.user) throw new DOMException("Somebody else is here now.", "AbortError");
    try {
      if (user !== null) return await post(letter, letter.requestId);
    } catch (error) {
      if (!isCut(error)) throw error;
    }
    onStuck();
    await backOnline();
  }
}

/** Waits until the network may be back. */
function backOnline(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      window.removeEventListener("online", stop);
      resolve();
    };
    const timer = setTimeout(stop, PAUSE_MS);
    window.addEventListener("online", stop);
  });
}

interface Outbox {
  readonly outgoing: readonly Outgoing[];
  /** Resolves when the message is safe. Raises Problem when it is refused. */
  readonly send: (message: NewMessage) => Promise<Accepted>;
}

interface Chatting {
  readonly place: string;
  /** Waited for before the message is no longer shown as on its way. */
  readonly onAccepted: OnAccepted;
  /** Takes back a message that was refused while its page was left. */
  readonly onReturned: (message: Returned) => void;
}

export function useOutbox({ place, onAccepted, onReturned }: Chatting): Outbox {
  const queries = useQueryClient();
  const user = userOf(useMe().data) ?? "";
  const { complain } = useToasts();
  const isHere = useRef(false);
  const all = useSyncExternalStore(watch, () => letters);
  const back = useSyncExternalStore(watch, () => returned);
  const isMine = useCallback(
    (each: { readonly place: string; readonly user: string }) => each.place === place && each.user === user,
    [place, user],
  );
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  useEffect(() => {
    openChats.set(place, onAccepted);
    return () => {
      if (openChats.get(place) === onAccepted) openChats.delete(place);
    };
  }, [place, onAccepted]);
  useEffect(() => {
    const mine = back.filter(isMine);
    for (const each of mine) onReturned(each);
    if (mine.length > 0) giveBack(back.filter((each) => !isMine(each)));
  }, [back, isMine, onReturned]);

  const carry = useCallback(
    async (letter: Outgoing, isWatched: () => boolean): Promise<Accepted> => {
      try {
        return await deliver(queries, letter);
      } catch (problem) {
        if (!isWatched() && !(problem instanceof DOMException)) {
          giveBack([...returned, { ...letter, problem }]);
          complain(problem);
        }
        throw problem;
      }
    },
    [queries, complain],
  );
  useEffect(() => {
    if (isAwake || user === "") return;
    isAwake = true;
    for (const letter of keptLetters()) if (letter.user === user) carry(letter, () => false).catch(() => {});
  }, [user, carry]);
  const send = useCallback(
    (message: NewMessage) =>
      carry({ ...message, requestId: newRequestId(), place, user, isStuck: false, runId: null }, () => isHere.current),
    [carry, place, user],
  );
  return { outgoing: useMemo(() => all.filter(isMine), [all, isMine]), send };
}
