/** The runs of a session as lines of a list: those that are over, and before them those that are not. */
import type { RunOut, SummaryOut } from "../../api/schema.gen.ts";
import { isOpen } from "./facts.ts";

export type RunLine = Pick<SummaryOut, "run_id" | "session_id" | "status" | "turn" | "at" | "asked" | "preview">;

/** Newest first. An open run has no Explanation of its own yet, so it is told from the run. */
export function linesOf(open: readonly RunOut[], told: readonly SummaryOut[]): readonly RunLine[] {
  const known = new Set(told.map(({ run_id }) => run_id));
  return [...open.filter(({ id, status }) => isOpen(status) && !known.has(id)).map(lineOf), ...told];
}

function lineOf(run: RunOut): RunLine {
  return {
    run_id: run.id,
    session_id: run.session_id,
    status: run.status,
    turn: run.turn,
    at: run.accepted_at,
    asked: run.said?.map(({ text }) => text).join("\n") || (run.command ?? ""),
    preview: run.text ?? "",
  };
}
