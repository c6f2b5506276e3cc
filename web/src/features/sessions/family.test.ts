import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionOut } from "../../api/schema.gen.ts";
import { type Branch, familyOf, type Relatives } from "./family.ts";

function aSession(id: string, forkOf: string | null = null, turn = 0): SessionOut {
  return {
    id,
    fork_of: forkOf,
    fork_turn: forkOf === null ? null : turn,
    created_at: `2026-01-01T00:00:0${turn}Z`,
  } as SessionOut;
}

function knowing(...sessions: readonly SessionOut[]): Relatives {
  return {
    session: async (id) => sessions.find((session) => session.id === id) ?? null,
    forksOf: async (id) => sessions.filter((session) => session.fork_of === id),
  };
}

const drawn = (branch: Branch): string =>
  branch.forks.length === 0 ? branch.session.id : `${branch.session.id}(${branch.forks.map(drawn).join(" ")})`;

test("a tree is drawn from its oldest session, whichever of it is looked at", async () => {
  const sessions = [aSession("a"), aSession("b", "a", 3), aSession("c", "a", 1), aSession("d", "b", 2)];

  for (const looked of sessions) {
    assert.equal(drawn((await familyOf(looked, knowing(...sessions))).root), "a(c b(d))");
  }
});

test("an ancestor that is erased is where the tree begins", async () => {
  const fork = aSession("b", "gone", 1);

  assert.equal(drawn((await familyOf(fork, knowing(fork))).root), "b");
});

test("a family without end is cut, and says so", async () => {
  const many = Array.from({ length: 150 }, (_, place) => aSession(`f${place}`, "a", 1));
  const family = await familyOf(aSession("a"), knowing(aSession("a"), ...many));

  assert.equal(family.root.forks.length, 99);
  assert.equal(family.isCut, true);
});
