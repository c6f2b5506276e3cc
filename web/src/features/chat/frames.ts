/** How each frame of the feed changes what a chat shows. */
import type { Frame } from "../../api/live.ts";
import type { RunErrorOut } from "../../api/schema.gen.ts";
import { type Attempt, answeredRun, type Conversation, isOpen } from "./conversation.ts";

/** What has to be asked for again, because a frame only says that it changed. */
export interface News {
  readonly runs: readonly string[];
  readonly messages: boolean;
  readonly approvals: boolean;
  readonly session: boolean;
}

const ENDS: Readonly<Record<string, Attempt["status"]>> = {
  "run.completed": "completed",
  "run.failed": "failed",
  "run.cancelled": "cancelled",
  "run.timed_out": "timed_out",
  "run.superseded": "superseded",
  "run.abandoned": "abandoned",
};

/** Folds frames of the feed into what is shown. A frame that is in already changes nothing. */
export function applyFrames(known: Conversation, frames: readonly Frame[]): Conversation {
  return frames.reduce(applyFrame, known);
}

function applyFrame(known: Conversation, frame: Frame): Conversation {
  if (frame.type === "stream.broken" || frame.seq <= known.seen) return known;
  const next = { ...known, seen: frame.seq };
  if (frame.type === "session.reset")
    return { ...next, epoch: Math.max(known.epoch, frame.data.epoch ?? known.epoch + 1) };
  if (frame.type === "approval.decided")
    return { ...next, approvals: known.approvals.filter((each) => each.id !== frame.data.approval_id) };
  if (frame.run_id === null) return next;
  const before = known.runs[frame.run_id] ?? unknownRun(frame.run_id, frame);
  const after = changed(before, frame);
  return after === known.runs[frame.run_id] ? next : { ...next, runs: { ...known.runs, [after.id]: after } };
}

/** A run after one of its frames. What has ended stays as it ended. */
function changed(run: Attempt, frame: Frame): Attempt {
  const end = ENDS[frame.type];
  if (!isOpen(run)) return run;
  switch (frame.type) {
    case "output.delta":
      return { ...run, status: "running", shown: run.shown + frame.data.text };
    case "output.snapshot":
      return { ...run, status: "running", shown: frame.data.text };
    case "run.resumed":
      return { ...run, status: "running", shown: frame.data.text ?? run.shown };
    case "run.waiting":
      return { ...run, status: "waiting", question: frame.data.question ?? "", shown: "", tools: {} };
    case "run.answered":
      return answeredRun(run, null);
    case "tool.started":
    case "tool.finished":
      return { ...run, tools: { ...run.tools, [frame.data.key ?? "tool"]: frame.data.status ?? "" } };
    case "run.completed":
      return {
        ...run,
        status: "completed",
        shown: frame.data.text,
        turn: frame.data.turn ?? null,
        finish: frame.data.finish === "interrupted" ? "interrupted" : "done",
        question: null,
      };
    default:
      return end === undefined ? run : { ...run, status: end, question: null, error: errorIn(frame) };
  }
}

function errorIn(frame: Frame): RunErrorOut | null {
  const told: Record<string, unknown> = frame.data;
  const error = told.error;
  if (error === null || typeof error !== "object") return null;
  const { code, message, stage, retryable } = error as Record<string, unknown>;
  return {
    code: String(code ?? "unknown"),
    message: String(message ?? ""),
    stage: typeof stage === "string" ? stage : null,
    retryable: retryable === true,
    details: [],
  };
}

/** A run that began after the view was read; what was said to it is asked for. */
function unknownRun(id: string, frame: Frame): Attempt {
  const told: Record<string, unknown> = frame.type === "run.accepted" ? frame.data : {};
  return {
    id,
    agent: String(told.agent ?? ""),
    status: "queued",
    turn: null,
    finish: null,
    merged: null,
    command: null,
    said: [],
    requestId: null,
    shown: "",
    question: null,
    asked: [],
    error: null,
    queueNo: typeof told.queue_no === "number" ? told.queue_no : Number.MAX_SAFE_INTEGER,
    feedNo: frame.seq,
    retryOf: null,
    supersededBy: null,
    acceptedAt: frame.ts ?? "",
    tools: {},
  };
}

export function newsIn(known: Conversation, frames: readonly Frame[]): News {
  const runs = new Set<string>();
  const fresh = frames.filter((frame) => frame.type !== "stream.broken" && frame.seq > known.seen);
  for (const { type, run_id: id } of fresh) {
    const isTold = id !== null && known.runs[id] !== undefined && !isOpen(known.runs[id]);
    if (id === null || isTold) continue;
    if (type === "run.accepted" ? known.runs[id] === undefined : type in ENDS || type === "run.answered") runs.add(id);
  }
  const has = (...types: readonly string[]) => fresh.some((frame) => types.includes(frame.type));
  return {
    runs: [...runs],
    // Also of a run whose end is known: it may have been asked for before its messages were.
    messages: has(...Object.keys(ENDS)),
    approvals: has("approval.requested"),
    session: has("session.changed", "session.reset", ...Object.keys(ENDS)),
  };
}
