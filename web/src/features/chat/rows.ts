/** The lines of a conversation in their order: what was said, what is being said, what failed, and where it began anew. */
import type { MessageOut } from "../../api/schema.gen.ts";
import { type Attempt, type Conversation, isOpen } from "./conversation.ts";

export type Row =
  | { readonly kind: "message"; readonly key: string; readonly message: MessageOut; readonly run: Attempt | undefined }
  | {
      readonly kind: "run";
      readonly key: string;
      readonly run: Attempt;
      readonly epoch: number;
      readonly place: number;
    }
  | { readonly kind: "epoch"; readonly key: string; readonly epoch: number };

/** Whether it belongs to a run that began the session anew and said nothing itself. */
const isBareReset = (run: Attempt): boolean =>
  run.status === "completed" && run.turn === null && (run.command === "reset" || run.said.length > 0);

/** Whether somebody has to be told of it although it is no turn. */
function isShown(run: Attempt, runs: Readonly<Record<string, Attempt>>, retried: ReadonlySet<string>): boolean {
  // What was said to it is on its way.
  if (run.said.length === 0 && run.shown === "" && isOpen(run)) return false;
  if (run.command !== null || run.status === "completed") return run.command === null && run.turn !== null;
  if (run.status === "superseded") {
    const follower = run.supersededBy === null ? undefined : runs[run.supersededBy];
    return run.turn === null && follower?.merged !== true;
  }
  // A run that was tried again is told by the one that tried it.
  return !retried.has(run.id);
}

export function rowsOf(known: Conversation): readonly Row[] {
  const rows: Row[] = [];
  const { messages } = known;
  const runs = Object.values(known.runs).sort((one, other) => one.queueNo - other.queueNo || one.feedNo - other.feedNo);
  const byTurn = new Map(runs.flatMap((run) => (run.turn === null ? [] : [[run.turn, run] as const])));
  const retried = new Set(runs.flatMap((run) => (run.retryOf === null ? [] : [run.retryOf])));
  const told = new Set(messages.map((message) => message.turn));
  const firstTurn = messages[0]?.turn ?? 0;
  let next = 0;
  let epoch = known.hasOlder ? (messages[0]?.epoch ?? known.epoch) : 1;
  let place = 0;
  let isInSight = !known.hasOlder;

  const enter = (into: number) => {
    if (into <= epoch) return;
    epoch = into;
    rows.push({ kind: "epoch", key: `epoch-${into}`, epoch: into });
  };
  const tell = (until: number) => {
    for (; next < messages.length; next += 1) {
      const message = messages[next];
      if (message === undefined || message.turn > until) return;
      enter(message.epoch);
      rows.push({ kind: "message", key: message.id, message, run: byTurn.get(message.turn) });
    }
  };

  for (const run of runs) {
    if (run.turn !== null && run.turn >= firstTurn) isInSight = true;
    if (!isInSight) continue;
    if (run.turn !== null) tell(run.turn);
    const isTold = run.turn !== null && (run.turn < firstTurn || told.has(run.turn));
    if (isBareReset(run)) enter(Math.min(epoch + 1, known.epoch));
    else if (!isTold && isShown(run, known.runs, retried)) {
      if (isOpen(run) && run.status !== "waiting") place += 1;
      rows.push({ kind: "run", key: run.id, run, epoch, place: isOpen(run) ? place : 0 });
    }
  }
  tell(Number.POSITIVE_INFINITY);
  if (epoch < known.epoch) enter(known.epoch);
  return rows;
}

/** The run that answers right now, or is next to. */
export function runningIn(known: Conversation): Attempt | undefined {
  return inOrder(known).find((run) => run.status === "running" || run.status === "queued");
}

/** The run that asked something back and waits for the answer. */
export function askingIn(known: Conversation): Attempt | undefined {
  const asked = inOrder(known).filter((run) => run.status === "waiting");
  return asked.findLast((run) => !known.approvals.some((approval) => approval.run_id === run.id));
}

function inOrder(known: Conversation): readonly Attempt[] {
  return Object.values(known.runs)
    .filter((run) => run.command === null && isOpen(run))
    .sort((one, other) => one.queueNo - other.queueNo);
}

/** Whether a message that was sent from here stands in the conversation by now. */
export function isTaken(
  known: Conversation,
  sent: { readonly requestId: string; readonly runId: string | null },
): boolean {
  const run = sent.runId === null ? undefined : known.runs[sent.runId];
  if (run !== undefined) return run.said.length > 0 || run.turn !== null;
  return Object.values(known.runs).some((each) => each.requestId === sent.requestId);
}

/** What the user said last, for whoever wants to say it otherwise. */
export function lastSaid(known: Conversation): MessageOut | undefined {
  return known.messages.findLast((message) => message.role === "user" && message.epoch === known.epoch);
}
