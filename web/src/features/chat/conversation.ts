/** What a chat shows of a session: messages, runs that are none yet, and what waits for a yes. */
import type { MessageOut, ResumeViewOut, RunErrorOut, RunOut, SaidOut } from "../../api/schema.gen.ts";

export type Approval = ResumeViewOut["pending_approvals"][number];

/** A run as the chat sees it: `shown` is what it has said so far, provisional until its messages are there. */
export interface Attempt {
  readonly id: string;
  readonly agent: string;
  readonly status: RunOut["status"];
  readonly turn: number | null;
  readonly finish: RunOut["finish"];
  readonly merged: boolean | null;
  readonly command: string | null;
  readonly said: readonly SaidOut[];
  /** The name that its sender gave the message, while it is no turn. */
  readonly requestId: string | null;
  readonly shown: string;
  /** What it asked and has not been told yet. */
  readonly question: string | null;
  /** What it asked before and was told; the answer is known where it was given. */
  readonly asked: ReadonlyArray<{ readonly question: string; readonly answer: string | null }>;
  readonly error: RunErrorOut | null;
  readonly queueNo: number;
  readonly feedNo: number;
  readonly retryOf: string | null;
  readonly supersededBy: string | null;
  readonly acceptedAt: string;
  /** What it does to the world right now, by name. */
  readonly tools: Readonly<Record<string, string>>;
}

export interface Conversation {
  /** In the order of their numbers, without a gap from the first to the newest. */
  readonly messages: readonly MessageOut[];
  readonly runs: Readonly<Record<string, Attempt>>;
  readonly approvals: readonly Approval[];
  readonly epoch: number;
  /** The number of the last frame that is in here. */
  readonly seen: number;
  readonly hasOlder: boolean;
  /** The oldest run that is known; the ones before it are asked for together with older messages. */
  readonly oldestRun: string | null;
}

const OPEN: ReadonlySet<string> = new Set(["queued", "running", "waiting"]);

export const isOpen = (run: Attempt): boolean => OPEN.has(run.status);

export function conversationOf(view: ResumeViewOut): Conversation {
  const runs = Object.fromEntries(view.runs.map((run) => [run.id, attemptOf(run)]));
  return {
    messages: view.messages,
    runs,
    approvals: view.pending_approvals,
    epoch: view.session.epoch,
    seen: knownUpTo(Object.values(runs)),
    hasOlder: (view.messages[0]?.seq ?? 1) > 1,
    oldestRun: view.runs.at(-1)?.id ?? null,
  };
}

/** Behind which number the feed tells all that the view could not: the pieces of answers that are under way. */
function knownUpTo(runs: readonly Attempt[]): number {
  const open = runs.filter((run) => isOpen(run));
  if (open.length > 0) return Math.min(...open.map((run) => run.feedNo)) - 1;
  return Math.max(0, ...runs.map((run) => run.feedNo));
}

export function attemptOf(run: RunOut): Attempt {
  return {
    id: run.id,
    agent: run.agent,
    status: run.status,
    turn: run.turn,
    finish: run.finish,
    merged: run.merged,
    command: run.command ?? null,
    said: run.said ?? [],
    requestId: run.request_id ?? null,
    shown: "",
    question: run.status === "waiting" ? (run.text ?? null) : null,
    asked: [],
    error: run.error,
    queueNo: run.queue_no,
    feedNo: run.feed_no,
    retryOf: run.retry_of,
    supersededBy: run.superseded_by,
    acceptedAt: run.accepted_at,
    tools: {},
  };
}

/** The question was answered, whoever did it; it is told once. */
export function answeredRun(run: Attempt, answer: string | null): Attempt {
  if (run.question === null) return { ...run, status: "running" };
  return { ...run, status: "running", question: null, asked: [...run.asked, { question: run.question, answer }] };
}

/** The question of a run was answered on this page. */
export function withAnswer(known: Conversation, runId: string, answer: string): Conversation {
  const run = known.runs[runId];
  if (run === undefined || !isOpen(run)) return known;
  const last = run.asked.at(-1);
  // The feed may have been quicker and told that it is answered, but not how.
  const told =
    run.question === null && last !== undefined
      ? { ...run, asked: [...run.asked.slice(0, -1), { ...last, answer: last.answer ?? answer }] }
      : answeredRun(run, answer);
  return { ...known, runs: { ...known.runs, [runId]: told } };
}

/** A run as the server tells it, but never behind what its frames have said already. */
export function withRun(known: Conversation, told: RunOut): Conversation {
  const fresh = attemptOf(told);
  const before = known.runs[fresh.id];
  const run = before === undefined ? fresh : joined(before, fresh);
  return { ...known, runs: { ...known.runs, [run.id]: run } };
}

function joined(before: Attempt, fresh: Attempt): Attempt {
  const isBehind = isOpen(fresh) && !isOpen(before);
  if (isBehind)
    return { ...before, said: fresh.said, requestId: fresh.requestId, agent: fresh.agent, command: fresh.command };
  const isWaiting = fresh.status === "waiting" || (fresh.status === "queued" && before.status === "waiting");
  return {
    ...fresh,
    said: fresh.said.length > 0 ? fresh.said : before.said,
    requestId: fresh.requestId ?? before.requestId,
    status: isOpen(fresh) && isOpen(before) ? before.status : fresh.status,
    shown: before.shown,
    asked: before.asked,
    question: isWaiting ? (before.question ?? fresh.question) : null,
    error: fresh.error ?? before.error,
    tools: before.tools,
  };
}

/** Messages from anywhere, each once, in their order. */
export function withMessages(known: Conversation, told: readonly MessageOut[]): Conversation {
  const bySeq = new Map([...known.messages, ...told].map((message) => [message.seq, message]));
  if (bySeq.size === known.messages.length) return known;
  return { ...known, messages: [...bySeq.values()].sort((one, other) => one.seq - other.seq) };
}

export function withOlder(
  known: Conversation,
  messages: readonly MessageOut[],
  runs: readonly RunOut[],
  hasOlder: boolean,
): Conversation {
  const older = Object.fromEntries(runs.map((run) => [run.id, attemptOf(run)]));
  return {
    ...withMessages(known, messages),
    runs: { ...older, ...known.runs },
    hasOlder,
    oldestRun: runs.at(-1)?.id ?? known.oldestRun,
  };
}

/** The same session read anew: what is live stays, what is newer joins. */
export function refreshed(known: Conversation, view: ResumeViewOut): Conversation {
  const first = view.messages[0]?.seq;
  const newest = known.messages.at(-1)?.seq ?? 0;
  if (first !== undefined && first > newest + 1) return conversationOf(view);
  const joinedRuns = view.runs.reduce(withRun, known);
  return { ...withMessages(joinedRuns, view.messages), approvals: view.pending_approvals, epoch: view.session.epoch };
}
