/** Laying two Explanations side by side, and finding what differs. */
import type { ExplanationOut, RunOut } from "../../api/schema.gen.ts";
import { titleOfStage } from "../../ui/steps.ts";
import { unitFactsOf, usedUnitsOf } from "./facts.ts";
import type { NodeOut } from "./graph/tree.ts";

export interface Difference {
  readonly about: string;
  readonly one: string;
  readonly other: string;
  readonly differs: boolean;
}

export interface Side {
  readonly told: ExplanationOut;
  readonly run: RunOut | undefined;
}

/** One line for each thing that a run has, the same things for both. */
export function differences(one: Side, other: Side): readonly Difference[] {
  const facts = [factsOf(one), factsOf(other)] as const;
  const names = [...new Set([...facts[0].keys(), ...facts[1].keys()])];
  return names.map((about) => {
    const [left, right] = [facts[0].get(about) ?? "none", facts[1].get(about) ?? "none"];
    return { about, one: left, other: right, differs: left !== right };
  });
}

function factsOf({ told, run }: Side): ReadonlyMap<string, string> {
  const units = unitFactsOf(told);
  return new Map([
    ["Status", told.status.replaceAll("_", " ")],
    ["Turn", told.turn === null ? "none" : String(told.turn)],
    ["Asked", told.asked],
    ["Error", told.error === null ? "none" : `${told.error.code}: ${told.error.message}`],
    ["Agent", run?.agent ?? "…"],
    ["Model", told.model ?? "none"],
    ["Level", told.level === null ? "none" : String(told.level)],
    ["Warnings", told.warnings.join(", ") || "none"],
    ...Object.entries(told.plugins),
    [
      "Units used",
      usedUnitsOf(told)
        .map((unit) => unit.content)
        .join("\n") || "none",
    ],
    ["Units learned", String(units.added.length)],
    ["Units replaced", String(units.superseded.length)],
    ...Object.entries(told.budget).map(([name, value]) => [name.replaceAll("_", " "), String(value)] as const),
    ...Object.entries(run?.account ?? {})
      .filter(([, value]) => typeof value === "number")
      .map(([name, value]) => [`Spent ${name.replaceAll("_", " ")}`, String(value)] as const),
  ]);
}

export interface StagePair {
  readonly name: string;
  readonly one: number | undefined;
  readonly other: number | undefined;
}

/** How long each stage took in both, in microseconds; the times of a stage that came twice are added up. */
export function stagePairs(one: ExplanationOut, other: ExplanationOut): readonly StagePair[] {
  const times = [timesOf(one), timesOf(other)] as const;
  const names = [...new Set([...times[0].keys(), ...times[1].keys()])];
  return names.map((name) => ({ name: titleOfStage(name), one: times[0].get(name), other: times[1].get(name) }));
}

function timesOf({ stages }: ExplanationOut): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const stage of stages) times.set(stage.name, (times.get(stage.name) ?? 0) + stage.took_us);
  return times;
}

export interface NodeChanges {
  readonly onlyInOne: readonly NodeOut[];
  readonly onlyInOther: readonly NodeOut[];
}

/** Nodes are the same when their type, label and status are; of several alike, as many as the other has. */
export function nodeChanges(one: readonly NodeOut[], other: readonly NodeOut[]): NodeChanges {
  return { onlyInOne: without(one, other), onlyInOther: without(other, one) };
}

function without(nodes: readonly NodeOut[], others: readonly NodeOut[]): readonly NodeOut[] {
  const left = new Map<string, number>();
  for (const node of others) left.set(keyOf(node), (left.get(keyOf(node)) ?? 0) + 1);
  return nodes.filter((node) => {
    const count = left.get(keyOf(node)) ?? 0;
    if (count > 0) left.set(keyOf(node), count - 1);
    return count === 0;
  });
}

function keyOf({ type, label, status }: NodeOut): string {
  return JSON.stringify([type, label, status]);
}
