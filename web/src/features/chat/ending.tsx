import { LoaderCircle } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { may, useMe } from "../../api/me.ts";
import { Status } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Json } from "../../ui/json.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import { titleOfStage } from "../../ui/steps.ts";
import { Countdown } from "../../ui/time.tsx";
import type { ChatActions } from "./actions.ts";
import type { Approval, Attempt } from "./conversation.ts";
import css from "./ending.module.css";
import { Markdown } from "./markdown.tsx";

interface EndingProps {
  readonly run: Attempt;
  readonly sessionId: string;
  readonly actions: ChatActions;
}

/** How a run stands that has not answered: it thinks, asks, waits for a yes, or came to another end. */
export function Ending({ run, sessionId, actions }: EndingProps) {
  const approval = actions.approvalOf(run);
  if (approval !== undefined) return <Asks approval={approval} onDecided={actions.onDecided} />;
  if (run.status === "waiting") return <Question run={run} />;
  if (run.status === "queued" || run.status === "running") return <Thinking run={run} />;
  return <Failed run={run} sessionId={sessionId} actions={actions} />;
}

function Thinking({ run }: { readonly run: Attempt }) {
  const tools = Object.entries(run.tools).filter(([, status]) => status === "begun");
  return (
    <div role="status" className={css.thinking}>
      <LoaderCircle aria-hidden className={css.turning} />
      <span>
        {run.agent === "" ? "The agent" : run.agent} is at it
        {tools.length > 0 && <>: {tools.map(([key]) => key).join(", ")}</>} …
      </span>
    </div>
  );
}

function Question({ run }: { readonly run: Attempt }) {
  return (
    <div className={css.card}>
      <strong>{run.agent} asks:</strong>
      <Markdown text={run.question ?? ""} />
    </div>
  );
}

const ENDED: Readonly<Record<string, string>> = {
  failed: "This turn failed.",
  cancelled: "This turn was stopped.",
  timed_out: "This turn took too long and was ended.",
  superseded: "A later message took the place of this one.",
  abandoned: "The server that answered this turn is gone.",
};

/** A turn that did not come about, where it would have stood. */
function Failed({ run, sessionId, actions }: EndingProps) {
  const { error } = run;
  const isBad = run.status !== "cancelled" && run.status !== "superseded";
  return (
    <section className={`${css.card} ${isBad ? css.bad : ""}`} aria-label="A turn without an answer">
      <div className="row">
        <Status of={run.status} />
        <strong>{ENDED[run.status] ?? "This turn has no answer."}</strong>
      </div>
      {error !== null && isBad && (
        <p>
          {error.message}{" "}
          <span className="soft">
            <code>{error.code}</code>
            {error.stage !== null && <> in the step “{titleOfStage(error.stage)}”</>}
          </span>
        </p>
      )}
      <p className="soft">Nothing of the conversation was changed by it.</p>
      <div className="row">
        {actions.onRetried !== undefined && run.said.length > 0 && run.status !== "superseded" && (
          <Button onClick={() => actions.onRetried?.(run)}>Try again</Button>
        )}
        <Link to={addresses.why(sessionId, run.id)}>See why</Link>
      </div>
    </section>
  );
}

/** An approval in its place in the conversation. */
function Asks({ approval, onDecided }: { readonly approval: Approval; readonly onDecided: ChatActions["onDecided"] }) {
  const { data: who } = useMe();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const decide = (decision: "approve" | "reject") => {
    setBusy(true);
    onDecided(approval, decision)
      .catch(setProblem)
      .finally(() => setBusy(false));
  };
  return (
    <section className={css.card} aria-label={`Approval of ${approval.action}`}>
      <strong>
        The agent wants to do <code>{approval.action}</code>
      </strong>
      <Json value={approval.context} />
      {approval.due_at !== null && (
        <p className="soft">
          It lapses in <Countdown until={approval.due_at} />.
        </p>
      )}
      {problem !== undefined && <ProblemNotice problem={problem} />}
      {may(who, "approvals:write") ? (
        <div className="row">
          <Button look="primary" isBusy={isBusy} onClick={() => decide("approve")}>
            Approve
          </Button>
          <Button look="danger" isBusy={isBusy} onClick={() => decide("reject")}>
            Deny
          </Button>
        </div>
      ) : (
        <p className="soft">Somebody with the role {approval.required_role} decides this.</p>
      )}
    </section>
  );
}
