/** Telling a run in plain words, for somebody who has never heard of stages and plugins. */
import type { EffectOut, ExplanationOut } from "../../api/schema.gen.ts";
import { placeOfStage, titleOfStage, WAY } from "../../ui/steps.ts";
import { unitFactsOf, usedUnitsOf } from "./facts.ts";

export type StoryTone = "good" | "warn" | "bad" | "info" | "neutral";

export interface Story {
  readonly tone: StoryTone;
  /** How it came out, in one line. */
  readonly headline: string;
  /** What one wants to know next, in the order in which one wants to know it. */
  readonly answers: ReadonlyArray<readonly [question: string, answer: string]>;
}

export type Told = Pick<
  ExplanationOut,
  | "run_id"
  | "status"
  | "partial"
  | "turn"
  | "answer_status"
  | "preview"
  | "error"
  | "stages"
  | "graph"
  | "plugins"
  | "units"
  | "document"
>;

export type Effect = Pick<EffectOut, "status" | "result">;

const UNTOUCHED =
  "Nothing of this turn was kept. The conversation is exactly as it was before; only this record of the run remains.";

/** `effects` are what the run did to the world: those are not taken back. */
export function story(told: Told, effects: readonly Effect[] = []): Story {
  const answers = [
    ["What happened", happened(told)],
    ["Where", where(told)],
    ["What ran before that", ranBefore(told)],
    ["What was kept", kept(told, effects)],
    ["Does trying again help", retrying(told)],
    ["What to do next", next(told)],
  ] as const;
  return {
    ...outcome(told),
    answers: answers.filter((each): each is [(typeof each)[0], string] => each[1] !== undefined),
  };
}

function outcome(told: Told): { readonly tone: StoryTone; readonly headline: string } {
  const step = stepOfEnd(told);
  switch (told.status) {
    case "completed":
      return told.answer_status === "no-context"
        ? { tone: "warn", headline: "Answered, but the agent knew nothing about it" }
        : { tone: "good", headline: told.turn === null ? "Done" : "Answered" };
    case "failed":
      return { tone: "bad", headline: step === undefined ? "This turn failed" : `This turn failed at “${step.title}”` };
    case "timed_out":
      return { tone: "bad", headline: "This turn took too long and was stopped" };
    case "cancelled":
      return { tone: "neutral", headline: "Somebody stopped this turn" };
    case "superseded":
      return { tone: "neutral", headline: "A newer message took the place of this one" };
    case "abandoned":
      return { tone: "bad", headline: "The server that worked on this turn went away" };
    case "waiting":
      return { tone: "warn", headline: "Waiting for an answer from a person" };
    case "queued":
      return { tone: "info", headline: "Waiting for its turn" };
    default:
      return { tone: "info", headline: "Still at work" };
  }
}

function happened({ status, error, preview, partial }: Told): string | undefined {
  const may = partial && status !== "waiting" ? " This record may be incomplete." : "";
  if (error !== null) return `${error.message}${may}`;
  switch (status) {
    case "completed":
      return undefined;
    case "waiting":
      return `The agent asks: ${preview}`;
    case "cancelled":
      return `The run was cancelled before it had an answer.${may}`;
    case "superseded":
      return `Another message came while this one was being answered, and the session is set to answer the newer one.${may}`;
    case "abandoned":
      return `The server stopped before the run had an answer, so nobody can tell exactly how far it came.${may}`;
    case "timed_out":
      return `The time that a turn may take was over.${may}`;
    case "queued":
      return "Another message of this session is being answered first.";
    default:
      return "The run is not over. This page renews itself when it is.";
  }
}

/** The step in which a run ended that has no answer. */
export function stepOfEnd({ status, error, stages }: Pick<Told, "status" | "error" | "stages">) {
  if (status === "completed" || status === "queued") return undefined;
  const named = error?.stage ?? stages.findLast((stage) => placeOfStage(stage.name) !== undefined)?.name;
  return named == null ? undefined : placeOfStage(named);
}

function where(told: Told): string | undefined {
  if (told.status === "completed" || told.status === "queued" || told.status === "waiting") return undefined;
  const step = stepOfEnd(told);
  if (step === undefined) return undefined;
  const doing = `In step ${step.no} of ${WAY.length}, “${step.title}”, in which ${step.says}.`;
  const failed = told.graph.nodes.filter((node) => node.type !== "step" && isBad(node.status));
  const first = failed[0];
  return first === undefined ? doing : `${doing} Inside of it “${first.label}” failed${why(first.error)}.`;
}

function why(error: string | null): string {
  return error === null || error === "" ? "" : `: ${error.replace(/\.$/, "")}`;
}

function ranBefore(told: Told): string | undefined {
  if (told.status === "completed" || told.status === "queued" || told.status === "waiting") return undefined;
  const end = stepOfEnd(told);
  const titles = told.stages
    .filter((stage) => placeOfStage(stage.name) !== undefined && stage.name !== end?.name)
    .map((stage) => titleOfStage(stage.name));
  const plugins = Object.values(told.plugins);
  const steps = titles.length === 0 ? "No step was finished" : `These steps went well: ${titles.join(", ")}`;
  return plugins.length === 0 ? `${steps}.` : `${steps}. Plugins that really ran: ${plugins.join(", ")}.`;
}

function kept(told: Told, effects: readonly Effect[]): string | undefined {
  const { status, turn } = told;
  if (status === "queued" || status === "running") return "Nothing yet: a turn is kept as a whole at its end.";
  if (status === "waiting") return "Nothing yet. Where the run stands is saved, so the answer may come a day later.";
  if (status !== "completed") {
    return turn === null
      ? `${UNTOUCHED}${outside(effects)}`
      : `Turn ${turn} was kept with the message and the text that was already shown, and nothing else of it.`;
  }
  const learned = learnedOf(told);
  if (turn === null) return learned ?? "This was a command. It is no turn of the conversation.";
  return `This is turn ${turn} of the conversation${learned === undefined ? "." : `; ${learned}`}`;
}

/** Of what was begun and never told its end nobody knows; what failed did nothing. */
/** A call that the tool itself answered with a failure did what it was to do no more than one that was never made. */
function isRefused({ result }: Effect): boolean {
  if (typeof result !== "object" || result === null || !("call_id" in result && "status" in result)) return false;
  return result.status !== "ok";
}

function outside(all: readonly Effect[]): string {
  const effects = all.filter((effect) => !isRefused(effect));
  const of = (...statuses: readonly string[]) => effects.filter(({ status }) => statuses.includes(status)).length;
  const parts = [
    counted(of("done"), "thing that it did outside stays done", "things that it did outside stay done"),
    counted(
      of("started", "unknown"),
      "thing that it began outside may have happened",
      "things that it began outside may have happened",
    ),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? "" : ` But ${parts.join(", and ")}; see Effects.`;
}

function learnedOf(told: Told): string | undefined {
  const units = unitFactsOf(told);
  const used = usedUnitsOf(told).length;
  const parts = [
    counted(units.added.length, "unit was learned", "units were learned"),
    counted(units.superseded.length, "older one was replaced", "older ones were replaced"),
    counted(units.forgotten.length, "unit was forgotten", "units were forgotten"),
    counted(units.pushedOut.length, "old unit had to give way", "old units had to give way"),
    counted(used, "known unit was used for the answer", "known units were used for the answer"),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : `${parts.join(", ")}.`;
}

function counted(count: number, one: string, many: string): string | undefined {
  return count === 0 ? undefined : `${count} ${count === 1 ? one : many}`;
}

function retrying({ status, error }: Told): string | undefined {
  if (status === "completed" || status === "queued" || status === "running" || status === "waiting") return undefined;
  if (status === "superseded") return "There is no need to: the newer message was answered in its place.";
  if (status === "cancelled") return "Yes. Nothing was wrong with the message; it was stopped.";
  if (error?.retryable === true || status === "abandoned")
    return "Yes. The cause may well be gone by the next try; send the same message again.";
  if (status === "timed_out") return "Perhaps, if less is asked for at once.";
  return "Not by itself: the same message will most likely fail in the same way until the cause is removed.";
}

const NEXT_BY_CODE: Readonly<Record<string, string>> = {
  agent_failed:
    "Tell whoever runs the agent the id of this run. The log of the server has the full error under that id. Then send the message again.",
  budget_exceeded: "Ask for less at once, or have the limits of this session raised; see Budget below.",
  plugin_stage_exhausted:
    "Look at the red nodes below: each says why a plugin failed. Choose another one, or repair it.",
  plugin_not_found: "Send the message again with one of the plugins that the error names, or with none.",
  compile_failed: "The context could not be put together. Tell whoever runs this server the id of this run.",
  store_unavailable: "The database could not be reached. Send the message again in a moment.",
  session_moved: "Send the message again; it will run on the newer state of the session.",
  scope_denied:
    "The agent wanted something that this session may not use. Mount it on the page Scope, or ask otherwise.",
  model_not_allowed: "Choose another model for this session, or have this one allowed for the tenant.",
  lease_lost: "Send the message again; another server has taken over this session.",
};

function next({ status, error }: Told): string | undefined {
  switch (status) {
    case "waiting":
      return "Answer in the chat; if it asks for permission, decide it on the page Approvals.";
    case "queued":
    case "running":
      return "Nothing; or stop it in the chat.";
    case "completed":
      return undefined;
    case "superseded":
      return "Look at the run that came after it in the list.";
    case "cancelled":
    case "abandoned":
      return "Send the message again in the chat if you still want the answer.";
    case "timed_out":
      return "Ask for less at once and send it again. The timeline below shows where the time went.";
    default:
      return (
        NEXT_BY_CODE[error?.code ?? ""] ??
        (error?.retryable === true
          ? "Send the same message again in the chat."
          : "Do what the error says, then send the message again. The log of the server has more under the id of this run.")
      );
  }
}

const BAD = new Set(["failed", "error", "rejected", "denied", "timed_out"]);

export function isBad(status: string): boolean {
  return BAD.has(status);
}
