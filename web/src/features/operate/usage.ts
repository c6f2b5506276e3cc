/** What was spent, span by span: gaps are filled, and the agents that spend little stand together. */
import type { SpentOut, UsageOut } from "../../api/schema.gen.ts";
import { colourAt, numberOf, type Place, type Series } from "./charts/series.ts";

export type Measure = "cost_cents" | "tokens" | "runs" | "tool_calls" | "model_calls";

export const MEASURES: Readonly<Record<Measure, string>> = {
  cost_cents: "Cost in cents",
  tokens: "Tokens",
  runs: "Runs",
  tool_calls: "Tool calls",
  model_calls: "Model calls",
};

export const OTHERS = "all others";
const MOST_SERIES = 5;
const SPAN_MS = { hour: 3_600_000, day: 86_400_000 } as const;

const LONG_MS = 2 * SPAN_MS.day;
const names = {
  hour: new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" }),
  hourOfDay: new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    timeZone: "UTC",
  }),
  day: new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" }),
} as const;
const fullNames = {
  hour: new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" }),
  day: new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" }),
} as const;

/** The first of cost, tokens and runs of which there is something. */
export function tellingMeasure(total: SpentOut): Measure {
  return total.cost_cents > 0 ? "cost_cents" : total.tokens > 0 ? "tokens" : "runs";
}

export interface AgentSpent {
  readonly agent: string;
  readonly spent: SpentOut;
}

export function byAgent(usage: UsageOut): readonly AgentSpent[] {
  const sums = new Map<string, SpentOut>();
  for (const { agent, spent } of usage.items) {
    const before = sums.get(agent);
    sums.set(agent, before === undefined ? spent : plus(before, spent));
  }
  return [...sums].map(([agent, spent]) => ({ agent, spent }));
}

export interface Drawn {
  readonly places: readonly Place[];
  readonly series: readonly Series[];
}

/** One series an agent, the largest first; five colours, so the rest share the last. */
export function drawnByAgent(usage: UsageOut, measure: Measure): Drawn {
  const ranked = [...byAgent(usage)]
    .filter(({ spent }) => spent[measure] > 0)
    .sort((one, other) => other.spent[measure] - one.spent[measure] || one.agent.localeCompare(other.agent))
    .map(({ agent }) => agent);
  const own = ranked.length > MOST_SERIES ? ranked.slice(0, MOST_SERIES - 1) : ranked;
  // An id of its own: an agent may be called like anything.
  const ids = new Map(own.map((agent, place) => [agent, `agent-${place}`]));
  const series = own.map((agent, place) => ({ id: `agent-${place}`, name: agent, colour: colourAt(place) }));
  if (own.length < ranked.length) series.push({ id: OTHERS, name: OTHERS, colour: colourAt(own.length) });
  const places = placesOf(usage, (values, item) => {
    const id = ids.get(item.agent) ?? OTHERS;
    values[id] = (values[id] ?? 0) + item.spent[measure];
  });
  return { places, series };
}

const ENDS: readonly Series[] = [
  { id: "completed", name: "Completed", colour: 2 },
  { id: "failed", name: "Failed", colour: 4 },
  { id: "other", name: "Cancelled, or not ended", colour: 5 },
];

export function drawnByEnd(usage: UsageOut): Drawn {
  const places = placesOf(usage, (values, { spent }) => {
    values.completed = (values.completed ?? 0) + spent.completed;
    values.failed = (values.failed ?? 0) + spent.failed;
    values.other = (values.other ?? 0) + spent.runs - spent.completed - spent.failed;
  });
  return { places, series: ENDS };
}

type Item = UsageOut["items"][number];

function placesOf(usage: UsageOut, add: (values: Record<string, number>, item: Item) => void): readonly Place[] {
  const step = SPAN_MS[usage.by];
  const found = new Map<number, Record<string, number>>();
  for (let at = Date.parse(usage.since); at < Date.parse(usage.until); at += step) found.set(at, {});
  for (const item of usage.items) {
    const values = found.get(Date.parse(item.at));
    if (values !== undefined) add(values, item);
  }
  const isLong = Date.parse(usage.until) - Date.parse(usage.since) > LONG_MS;
  const name = names[usage.by === "hour" && isLong ? "hourOfDay" : usage.by];
  return [...found].map(([at, values]) => ({
    key: String(at),
    name: name.format(at),
    fullName: `${fullNames[usage.by].format(at)}${usage.by === "hour" ? " UTC" : ""}`,
    values,
  }));
}

export function saysWhoSpends(usage: UsageOut, measure: Measure): string {
  const [total, what] = [usage.total[measure], measure === "cost_cents" ? "cents" : MEASURES[measure].toLowerCase()];
  if (total === 0) return `No ${what} were spent in this time.`;
  const most = [...byAgent(usage)].sort((one, other) => other.spent[measure] - one.spent[measure])[0];
  const part = most === undefined ? 0 : Math.round((most.spent[measure] / total) * 100);
  return `${numberOf(total)} ${what} in all, ${part} % of them by ${most?.agent ?? "nobody"}.`;
}

export function saysHowItEnds({ runs, completed, failed }: SpentOut): string {
  if (runs === 0) return "There was no run in this time.";
  const part = ((failed / runs) * 100).toFixed(failed / runs < 0.1 ? 1 : 0);
  const ends = failed === 0 ? "none failed" : `${numberOf(failed)} failed (${part} %)`;
  return `Of ${numberOf(runs)} runs, ${numberOf(completed)} completed and ${ends}.`;
}

function plus(one: SpentOut, other: SpentOut): SpentOut {
  return {
    runs: one.runs + other.runs,
    completed: one.completed + other.completed,
    failed: one.failed + other.failed,
    tokens: one.tokens + other.tokens,
    cost_cents: one.cost_cents + other.cost_cents,
    model_calls: one.model_calls + other.model_calls,
    tool_calls: one.tool_calls + other.tool_calls,
  };
}
