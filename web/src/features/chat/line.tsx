import { Pencil } from "lucide-react";
import { memo } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { Badge } from "../../ui/badge.tsx";
import { IconButton } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { When } from "../../ui/time.tsx";
import type { ChatActions } from "./actions.ts";
import { Attached } from "./attached.tsx";
import { Ending } from "./ending.tsx";
import css from "./line.module.css";
import type { AnswerLine, Line, SaidLine } from "./lines.ts";
import { Markdown } from "./markdown.tsx";

interface LineProps {
  readonly line: Line;
  readonly sessionId: string;
  readonly actions: ChatActions;
}

/** One line of the conversation. It is drawn again only when something of it changed. */
export const DrawnLine = memo(
  function DrawnLine({ line, sessionId, actions }: LineProps) {
    if (line.kind === "epoch") return <EpochBegins epoch={line.epoch} />;
    const past = line.isPast ? css.past : "";
    if (line.kind === "said") return <Said line={line} past={past ?? ""} actions={actions} />;
    if (line.kind === "answer") return <Answer line={line} past={past ?? ""} sessionId={sessionId} actions={actions} />;
    return (
      <div className={`${css.answer} ${past}`}>
        <Ending run={line.run} sessionId={sessionId} actions={actions} />
      </div>
    );
  },
  (before, after) =>
    before.actions === after.actions && before.sessionId === after.sessionId && isSame(before.line, after.line),
);

function isSame(one: Line, other: Line): boolean {
  const [before, after] = [Object.entries(one), other as unknown as Record<string, unknown>];
  return before.length === Object.keys(other).length && before.every(([name, value]) => after[name] === value);
}

function EpochBegins({ epoch }: { readonly epoch: number }) {
  return (
    <div className={css.epoch}>
      <hr />
      <span>Reset. Epoch {epoch} begins: nothing above is in reach of a later answer.</span>
      <hr />
    </div>
  );
}

function Said({
  line,
  past,
  actions,
}: {
  readonly line: SaidLine;
  readonly past: string;
  readonly actions: ChatActions;
}) {
  const { message } = line;
  const canEdit = line.isLast && message !== null && !line.isPast && actions.onEditBegun !== undefined;
  return (
    <article className={`${css.said} ${past}`} aria-label="You said">
      <div className={css.bubble} dir="auto">
        {line.text}
        {line.isLast && line.attachments.length > 0 && <Attached attachments={line.attachments} />}
      </div>
      {line.isLast && (line.note !== null || message !== null) && (
        <footer className={css.foot}>
          {line.note !== null && <Badge tone="info">{line.note}</Badge>}
          {message !== null && <When at={message.created_at} />}
          {canEdit && (
            <IconButton label="Edit in a fork" onClick={() => actions.onEditBegun?.(message)}>
              <Pencil aria-hidden />
            </IconButton>
          )}
        </footer>
      )}
    </article>
  );
}

function Answer({
  line,
  past,
  sessionId,
  actions,
}: {
  readonly line: AnswerLine;
  readonly past: string;
  readonly sessionId: string;
  readonly actions: ChatActions;
}) {
  const { message, run } = line;
  const origin = run === undefined && message !== null ? actions.originOf(message) : undefined;
  const agent = run?.agent ?? origin?.agent;
  return (
    <article className={`${css.answer} ${past}`} aria-label={agent === undefined ? "Answer" : `${agent} said`}>
      {line.isFirst && agent !== undefined && <div className={css.who}>{agent}</div>}
      <Markdown text={line.text} />
      {line.isLast && (
        <footer className={css.foot}>
          {message === null && run?.status === "running" && <span role="status">is being said …</span>}
          {message !== null && run?.finish === "interrupted" && <Badge tone="warn">interrupted</Badge>}
          {message !== null && <When at={message.created_at} />}
          {run !== undefined && message !== null && <Link to={addresses.why(sessionId, run.id)}>Why</Link>}
          {origin !== undefined && (
            <Link to={addresses.why(origin.sessionId, origin.runId)}>Why, where it was said</Link>
          )}
          {message !== null && <Copy text={message.content} label="Copy the answer" />}
        </footer>
      )}
    </article>
  );
}
