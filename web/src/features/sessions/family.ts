/** A session among its relatives: what it was forked from, and what was forked from it. */
import type { SessionOut } from "../../api/schema.gen.ts";

export interface Branch {
  readonly session: SessionOut;
  readonly forks: readonly Branch[];
}

export interface Family {
  readonly root: Branch;
  /** Further forks exist that are not drawn here. */
  readonly isCut: boolean;
}

export interface Relatives {
  readonly session: (id: string) => Promise<SessionOut | null>;
  readonly forksOf: (id: string) => Promise<readonly SessionOut[]>;
}

const MOST_SESSIONS = 100;

/** Climbs to the first ancestor that can still be read, then walks down, breadth first, to a bounded tree. */
export async function familyOf(session: SessionOut, relatives: Relatives): Promise<Family> {
  let oldest = session;
  const seen = new Set([session.id]);
  while (oldest.fork_of !== null && !seen.has(oldest.fork_of)) {
    const parent = await relatives.session(oldest.fork_of);
    if (parent === null) break;
    seen.add(parent.id);
    oldest = parent;
  }
  const forks = new Map<string, readonly SessionOut[]>();
  const waiting = [oldest];
  let count = 1;
  while (waiting.length > 0 && count < MOST_SESSIONS) {
    const next = waiting.shift() as SessionOut;
    const found = await relatives.forksOf(next.id);
    forks.set(next.id, found.slice(0, MOST_SESSIONS - count));
    count += found.length;
    waiting.push(...found);
  }
  return { root: branchOf(oldest, forks), isCut: count >= MOST_SESSIONS };
}

function branchOf(session: SessionOut, forks: ReadonlyMap<string, readonly SessionOut[]>): Branch {
  const own = [...(forks.get(session.id) ?? [])].sort(
    (one, other) => (one.fork_turn ?? 0) - (other.fork_turn ?? 0) || one.created_at.localeCompare(other.created_at),
  );
  return { session, forks: own.map((fork) => branchOf(fork, forks)) };
}
