/** Reading what an Explanation leaves open: units, sources, budget and what was denied, by the names that it uses. */
import type { ExplanationOut, RunOut, SummaryOut } from "../../api/schema.gen.ts";

export interface UsedUnit {
  readonly id: string;
  readonly content: string;
  /** Where it came from, in words: this conversation, a knowledge base. */
  readonly source: string;
}

export interface UnitFacts {
  readonly added: readonly string[];
  readonly superseded: ReadonlyArray<{ readonly unit: string; readonly by: string }>;
  readonly pushedOut: readonly string[];
  readonly forgotten: readonly string[];
  readonly dropped: ReadonlyArray<{ readonly content: string; readonly reason: string }>;
}

type Loose = Readonly<Record<string, unknown>>;

export function unitFactsOf({ units }: Pick<SummaryOut, "units">): UnitFacts {
  return {
    added: textsOf(units.added),
    superseded: recordsOf(units.superseded).map((each) => ({ unit: String(each.unit), by: String(each.by) })),
    pushedOut: textsOf(units.pushed_out),
    forgotten: textsOf(units.forgotten),
    dropped: recordsOf(units.dropped).map((each) => ({ content: String(each.content), reason: String(each.reason) })),
  };
}

/** The units that the answer rests on; an agent that tells no sources has none here. */
export function usedUnitsOf({ document }: Pick<ExplanationOut, "document">): readonly UsedUnit[] {
  return recordsOf(document?.sources)
    .filter((source) => typeof source.unit_id === "string")
    .map((source) => ({
      id: String(source.unit_id),
      content: String(source.content ?? ""),
      source: String(source.source ?? source.place ?? ""),
    }));
}

export interface Meter {
  readonly name: string;
  readonly spent: number;
  /** Undefined: counted, but without a limit. */
  readonly most: number | undefined;
  readonly unit: string;
}

const COUNTED: ReadonlyArray<readonly [key: string, name: string, unit: string]> = [
  ["tokens", "Tokens", "tokens"],
  ["tool_calls", "Calls of tools", "calls"],
  ["cost_cents", "Cost", "cents"],
];

/** What was spent against what may be: calls of models, tokens, tools, cents, and time. */
export function metersOf(
  told: Pick<ExplanationOut, "budget">,
  run: Pick<RunOut, "account" | "started_at" | "ended_at"> | undefined,
  limits: Readonly<Record<string, number>>,
): readonly Meter[] {
  const meters: Meter[] = [];
  const calls = numberOf(told.budget.model_calls) ?? numberOf(run?.account?.model_calls);
  const mostCalls = numberOf(told.budget.most_model_calls);
  if (calls !== undefined) meters.push({ name: "Calls of models", spent: calls, most: mostCalls, unit: "calls" });
  for (const [key, name, unit] of COUNTED) {
    const spent = numberOf(run?.account?.[key]);
    const most = limits[key];
    if (spent !== undefined || most !== undefined) meters.push({ name, spent: spent ?? 0, most, unit });
  }
  if (limits.max_steps !== undefined) {
    const steps = (calls ?? 0) + (numberOf(run?.account?.tool_calls) ?? 0);
    meters.push({ name: "Calls of tools and models", spent: steps, most: limits.max_steps, unit: "calls" });
  }
  if (run?.started_at != null && run.ended_at != null) {
    const seconds = (Date.parse(run.ended_at) - Date.parse(run.started_at)) / 1_000;
    meters.push({ name: "Time", spent: seconds, most: limits.timeout_seconds, unit: "s" });
  }
  return meters;
}

export interface Denial {
  readonly code: string;
  readonly about: string;
}

/** What the run asked for and was not given. */
export function denialsOf({ warnings, details }: Pick<ExplanationOut, "warnings" | "details">): readonly Denial[] {
  return warnings
    .filter((code) => code.startsWith("denied.") || code.startsWith("scope_"))
    .map((code) => ({ code: code.replace(/^denied\./, ""), about: about(details[code]) }));
}

function about(detail: unknown): string {
  if (detail === null || typeof detail !== "object") return "";
  return Object.entries(detail)
    .filter(([name]) => name !== "call_id")
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

const OPEN = new Set(["queued", "running", "waiting"]);

export function isOpen(status: string): boolean {
  return OPEN.has(status);
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function recordsOf(value: unknown): readonly Loose[] {
  return Array.isArray(value) ? value.filter((each): each is Loose => each !== null && typeof each === "object") : [];
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
