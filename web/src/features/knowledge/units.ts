/** Reading, finding and ordering the units of a session. */
import type { UnitOut } from "../../api/schema.gen.ts";

export const STATUSES = ["committed", "superseded", "pushed_out", "forgotten"] as const;
export const ROLES = [
  "Comparison",
  "Constraint",
  "Definition",
  "Description",
  "Diagnostic",
  "Evaluation",
  "Explanation",
  "Narrative",
  "Procedure",
] as const;

const WORDS: Readonly<Record<string, string>> = {
  committed: "current",
  superseded: "replaced",
  pushed_out: "gave way",
  forgotten: "forgotten",
};

/** What a status is called on the page. */
export function statusWords(status: string): string {
  return WORDS[status] ?? status;
}

/** One thing that a unit says of itself, as text; empty where it says nothing. */
export function said(unit: UnitOut["unit"], name: string): string {
  const value = unit?.[name];
  return value === undefined || value === null ? "" : String(value);
}

/** What a unit says: its claim, or the steps of a procedure. */
export function contentOf({ unit }: Pick<UnitOut, "unit">): string {
  return said(unit, "claim") || said(unit, "procedure");
}

export interface Wanted {
  readonly words: string;
  /** Empty: whatever it is. */
  readonly status: string;
  readonly role: string;
}

/** The units that hold every one of the words, newest first. */
export function matching(units: readonly UnitOut[], { words, status, role }: Wanted): readonly UnitOut[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return units
    .filter(
      (each) =>
        (status === "" || each.status === status) &&
        (role === "" || said(each.unit, "role") === role) &&
        wanted.every((word) => textOf(each).includes(word)),
    )
    .toReversed();
}

function textOf({ id, unit }: UnitOut): string {
  const names = ["claim", "procedure", "topic", "title", "condition", "subject", "object", "slot", "source_name"];
  return [id, ...names.map((name) => said(unit, name))].join("\n").toLowerCase();
}

/** What replaced what, oldest first: all that led to this unit, the unit itself, and what came after it. */
export function chainOf(units: readonly UnitOut[], id: string): readonly UnitOut[] {
  const byId = new Map(units.map((unit) => [unit.id, unit]));
  const own = byId.get(id);
  if (own === undefined) return [];
  const chain = [own];
  const seen = new Set([id]);
  for (let at = own; at.superseded_by !== null; ) {
    const next = byId.get(at.superseded_by);
    if (next === undefined || seen.has(next.id)) break;
    seen.add(next.id);
    chain.push(next);
    at = next;
  }
  for (let wave = [id]; wave.length > 0; ) {
    const before = units.filter((unit) => wave.includes(unit.superseded_by ?? "") && !seen.has(unit.id));
    for (const unit of before) seen.add(unit.id);
    chain.unshift(...before);
    wave = before.map((unit) => unit.id);
  }
  return chain;
}
