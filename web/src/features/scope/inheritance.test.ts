import assert from "node:assert/strict";
import { test } from "node:test";
import type { LayerOut, SessionOut } from "../../api/schema.gen.ts";
import { changesBetween, givenTo, newsOf } from "./inheritance.ts";

type Session = Parameters<typeof givenTo>[0];

const MOUNT: SessionOut["mounts"][number] = {
  kind: "knowledge_base",
  id: "kb_1",
  revision: 0,
  mounted_at: "2026-01-01T00:00:00Z",
  source: "project",
  mode: "follow",
  manifest: null,
  state: "effective",
};

const SESSION: Session = {
  policy: "standard",
  model_profile: null,
  limits: { max_steps: 20 },
  provenance: { "limits.max_steps": "project" },
  idle_for_seconds: 60,
  needs_isolation: false,
  mounts: [MOUNT],
  context_chain: [{ level: "project", id: "proj_1", revision: 1 }],
};

function project(revision: number, terms: Partial<LayerOut["terms"]>): LayerOut {
  return {
    level: "project",
    id: "proj_1",
    project_id: null,
    name: "Harbour",
    status: "active",
    revision,
    terms: {
      mounts: [{ kind: "knowledge_base", id: "kb_1" }],
      excluded: [],
      policy: null,
      model_profile: null,
      allowed_models: null,
      allowed_tools: null,
      blocked_tools: [],
      limits: { max_steps: 20 },
      prompt: null,
      retrieval: null,
      idle_for_seconds: null,
      needs_isolation: false,
      quotas: {},
      ...terms,
    },
    created_by: "local",
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
  };
}

test("every value names the level that gave it, or none where nobody said anything", () => {
  const given = givenTo(SESSION);

  assert.deepEqual(given[2], { name: "Calls of tools and models", value: "20", level: "project" });
  assert.equal(given[0]?.level, undefined);
});

test("a layer that stayed as it was brings nothing new", () => {
  assert.deepEqual(newsOf(SESSION, [project(1, { limits: { max_steps: 5 } })]), []);
});

test("what a layer says by now is told before the rebase, and what changed after it", () => {
  const mounts = [{ kind: "pointer", id: "ptr_1" }];

  assert.deepEqual(newsOf(SESSION, [project(2, { mounts, limits: { max_steps: 5 } })]), [
    "The project “Harbour” now mounts the pointer ptr_1.",
    "The project “Harbour” no longer mounts the knowledge base kb_1.",
    "The project “Harbour” now limits max steps to 5.",
  ]);
  assert.deepEqual(newsOf(SESSION, [project(3, {})]), ["The project “Harbour” has changed (revision 1 then, 3 now)."]);
  assert.deepEqual(changesBetween(SESSION, { ...SESSION, mounts: [], limits: { max_steps: 5 } }), [
    "knowledge base kb_1 is no longer mounted",
    "Calls of tools and models: 5",
  ]);
});
