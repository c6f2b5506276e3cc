/** The lines that the window of a chat draws: rows, with long texts cut so that only what is in sight is drawn. */
import type { AttachmentOut, MessageOut } from "../../api/schema.gen.ts";
import type { Attempt } from "./conversation.ts";
import type { Outgoing } from "./outbox.ts";
import { piecesOf } from "./pieces.ts";
import type { Row } from "./rows.ts";

interface Place {
  readonly key: string;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** From before the last reset. */
  readonly isPast: boolean;
}

export interface SaidLine extends Place {
  readonly kind: "said";
  readonly text: string;
  readonly attachments: readonly AttachmentOut[];
  /** What can be said otherwise in a fork; a run that is no turn has none. */
  readonly message: MessageOut | null;
  readonly note: string | null;
}

export interface AnswerLine extends Place {
  readonly kind: "answer";
  readonly text: string;
  readonly message: MessageOut | null;
  readonly run: Attempt | undefined;
}

export interface EndLine extends Place {
  readonly kind: "end";
  readonly run: Attempt;
}

export interface EpochLine {
  readonly kind: "epoch";
  readonly key: string;
  readonly epoch: number;
}

export type Line = SaidLine | AnswerLine | EndLine | EpochLine;

interface KeptLines {
  readonly run: Attempt | undefined;
  readonly isPast: boolean;
  readonly lines: readonly Line[];
}

/** Lines of messages change with their run and epoch alone; a long conversation is not cut anew for every frame. */
const kept = new WeakMap<MessageOut, KeptLines>();

export function linesOf(rows: readonly Row[], epoch: number, outgoing: readonly Outgoing[]): readonly Line[] {
  return [...rows.flatMap((row) => linesOfRow(row, epoch)), ...outgoing.map(waitingToBeSent)];
}

function linesOfRow(row: Row, epoch: number): readonly Line[] {
  if (row.kind === "epoch") return [row];
  if (row.kind === "run") return linesOfRun(row.run, row.place, row.epoch < epoch);
  const { message, run } = row;
  const isPast = message.epoch < epoch;
  const known = kept.get(message);
  if (known !== undefined && known.run === run && known.isPast === isPast) return known.lines;
  const cut = piecesOf(message.content);
  const lines =
    message.role === "user"
      ? saidLines(message.id, cut, { message, attachments: message.attachments ?? [], note: null, isPast })
      : answerLines(message.id, cut, { message, run, isPast });
  kept.set(message, { run, isPast, lines });
  return lines;
}

/** A run that stands in no message yet, or never will: what was said to it, what it says, and how it ended. */
function linesOfRun(run: Attempt, place: number, isPast: boolean): readonly Line[] {
  const note = run.status !== "completed" && place > 1 ? `In line, place ${place - 1}` : null;
  const said = run.said.flatMap(({ text, attachments }, index) =>
    saidLines(`${run.id}-said-${index}`, piecesOf(text), { message: null, attachments, note, isPast }),
  );
  const asked = run.asked.flatMap(({ question, answer }, index) => [
    ...answerLines(`${run.id}-asked-${index}`, [question], { message: null, run, isPast }),
    ...saidLines(`${run.id}-told-${index}`, answer === null ? [] : piecesOf(answer), {
      message: null,
      attachments: [],
      note: null,
      isPast,
    }),
  ]);
  const isSpeaking = run.shown !== "" && run.status !== "waiting";
  const shown = isSpeaking ? answerLines(`${run.id}-shown`, piecesOf(run.shown), { message: null, run, isPast }) : [];
  const isDone = run.status === "completed" || (isSpeaking && run.status === "running") || place > 1;
  const end: readonly Line[] = isDone
    ? []
    : [{ kind: "end", key: `${run.id}-end`, run, isFirst: true, isLast: true, isPast }];
  return [...said, ...asked, ...shown, ...end];
}

function saidLines(
  key: string,
  texts: readonly string[],
  of: Pick<SaidLine, "message" | "attachments" | "note" | "isPast">,
): readonly Line[] {
  return texts.map((text, index) => ({ kind: "said", ...of, text, ...placed(key, index, texts.length) }));
}

function answerLines(
  key: string,
  texts: readonly string[],
  of: Pick<AnswerLine, "message" | "run" | "isPast">,
): readonly Line[] {
  return texts.map((text, index) => ({ kind: "answer", ...of, text, ...placed(key, index, texts.length) }));
}

function placed(key: string, index: number, count: number) {
  return { key: `${key}-${index}`, isFirst: index === 0, isLast: index === count - 1 };
}

function waitingToBeSent({ requestId, text, attachments, isStuck }: Outgoing): Line {
  return {
    kind: "said",
    key: requestId,
    text,
    attachments,
    message: null,
    note: isStuck ? "Not sent yet: the server cannot be reached. It is tried again." : "On its way …",
    isFirst: true,
    isLast: true,
    isPast: false,
  };
}

/** How high a line will be, more or less; it is measured when it is drawn. */
export function guessedHeight(line: Line): number {
  if (line.kind === "epoch") return 60;
  if (line.kind === "end") return 90;
  const rows = Math.ceil(line.text.length / 80) + line.text.split("\n", 200).length - 1;
  return 22 * Math.max(1, rows) + (line.kind === "answer" ? 62 : 40);
}
