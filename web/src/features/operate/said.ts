/** What a run is about, in a line that leads to its session. */
import type { RunOut } from "../../api/schema.gen.ts";

export function saidTo(run: Pick<RunOut, "said" | "command">): string {
  return run.said?.map(({ text }) => text).join(" ") || run.command || "Open the session";
}
