/** What in a running house is stuck, or about to be: the one question of the first view. */
import type { TurnkeeperServerWireOverviewNodeOut as NodeOut, RunOut } from "../../api/schema.gen.ts";
import { durationOf } from "../../ui/durations.ts";

export interface Worry {
  readonly key: string;
  readonly tone: "warn" | "bad";
  readonly text: string;
  readonly runId?: string;
}

export interface House {
  readonly runs: readonly RunOut[];
  /** Undefined where the caller may not see them. */
  readonly nodes: readonly NodeOut[] | undefined;
  /** How long a run may take, as the house has it. */
  readonly runSeconds: number;
  /** The moment that all this was read, in milliseconds. */
  readonly at: number;
}

const QUEUED_SECONDS = 30;
const WAITING_SECONDS = 3_600;
/** A run that has just begun or ended may be in one answer of the server and not yet in the other. */
const UNHELD_SECONDS = 10;
const LEASE_SECONDS = 3;

/** Which node runs what. */
export function holdersOf(nodes: readonly NodeOut[] | undefined): ReadonlyMap<string, NodeOut> {
  return new Map((nodes ?? []).flatMap((node) => node.leases.map((lease) => [lease.run_id, node])));
}

/** The worst first. */
export function worriesOf(house: House): readonly Worry[] {
  const holders = holdersOf(house.nodes);
  const found = [
    ...(house.nodes ?? []).flatMap((node) => nodeWorries(node, house.at)),
    ...house.runs.flatMap((run) => runWorries(run, house, holders)),
  ];
  return found.sort((one, other) => Number(other.tone === "bad") - Number(one.tone === "bad"));
}

function nodeWorries(node: NodeOut, at: number): readonly Worry[] {
  if (!node.is_alive && node.leases.length > 0) {
    const count = node.leases.length === 1 ? "1 session" : `${node.leases.length} sessions`;
    const text = `A node is gone and still holds ${count}. Another node takes over when the leases end.`;
    return [{ key: `${node.id} gone`, tone: "bad", text }];
  }
  return node.leases
    .filter((lease) => secondsBetween(at, lease.expires_at) < LEASE_SECONDS)
    .map((lease) => ({
      key: `${lease.run_id} lease`,
      tone: "warn",
      runId: lease.run_id,
      text: "Its lease is about to end. A node in good health renews it long before; this one may be overloaded.",
    }));
}

function runWorries(
  run: RunOut,
  { nodes, runSeconds, at }: House,
  holders: ReadonlyMap<string, NodeOut>,
): readonly Worry[] {
  const about = (tone: Worry["tone"], text: string): Worry[] => [{ key: `${run.id} run`, tone, text, runId: run.id }];
  const age = ageOf(run, at);
  switch (run.status) {
    case "queued":
      if (age <= QUEUED_SECONDS) return [];
      return about(
        "warn",
        `It has waited for its turn for ${durationOf(age)}: see what runs before it in its session.`,
      );
    case "waiting":
      if (age <= WAITING_SECONDS) return [];
      return about("warn", `It has waited for somebody for ${durationOf(age)}: answer its question, or decide it.`);
    case "running":
      if (nodes !== undefined && !holders.has(run.id) && age > UNHELD_SECONDS)
        return about(
          "bad",
          "No node holds it any more. It is settled by itself in a moment; cancel it if it stays like this.",
        );
      if (run.mode !== "long_running" && age > runSeconds)
        return about("warn", `It has run for ${durationOf(age)}, longer than the usual ${durationOf(runSeconds)}.`);
      return [];
    default:
      return [];
  }
}

/** For how long a run has been as it is, in whole seconds. */
export function ageOf(run: RunOut, at: number): number {
  const since = run.status === "queued" ? run.accepted_at : (run.started_at ?? run.accepted_at);
  return Math.max(0, -secondsBetween(at, since));
}

function secondsBetween(from: number, until: string): number {
  return Math.round((Date.parse(until) - from) / 1_000);
}
