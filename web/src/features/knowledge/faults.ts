/** What is wrong with a text of units, and where in it. */
export interface Fault {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The details of a refusal that name a line. */
export function faultsOf(details: unknown): readonly Fault[] {
  if (!Array.isArray(details)) return [];
  return details
    .filter((each): each is Record<string, unknown> => typeof each === "object" && each !== null && "line" in each)
    .map((each) => ({
      line: Number(each.line),
      column: Number(each.column ?? 1),
      message: String(each.message ?? ""),
    }));
}

/** Where a line begins in a text; lines count from 1. */
export function startOfLine(text: string, line: number): number {
  let at = 0;
  for (let no = 1; no < line; no += 1) {
    const end = text.indexOf("\n", at);
    if (end === -1) return at;
    at = end + 1;
  }
  return at;
}
