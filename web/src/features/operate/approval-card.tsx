import { ShieldQuestion } from "lucide-react";
import { useId, useState } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { may, useMe } from "../../api/me.ts";
import type { ApprovalOut } from "../../api/schema.gen.ts";
import { useSession } from "../../api/sessions.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Json } from "../../ui/json.tsx";
import { Facts } from "../../ui/panel.tsx";
import { Countdown, When } from "../../ui/time.tsx";
import { useDecision } from "./approval-queries.ts";
import css from "./approvals.module.css";
import { afterwards, argumentsOf, restOf, whyNot } from "./approvals.ts";

/** One question to a person: what is to be done, with what, why it is asked, and until when. */
export function ApprovalCard({ approval }: { readonly approval: ApprovalOut }) {
  const heading = useId();
  const { agent, user, summary, risk, resources } = approval.context;
  const rest = restOf(approval);
  return (
    <article className={css.card} aria-labelledby={heading}>
      <header className={css.head}>
        <ShieldQuestion aria-hidden />
        <h2 id={heading}>
          {textOf(agent)} asks: may I call <code>{approval.action}</code>?
        </h2>
      </header>
      {typeof summary === "string" && !summary.includes(approval.action) && <p>{summary}</p>}
      {approval.rule.gate === "review" && <p>It went on already: you are asked to look at what it did.</p>}
      <div>
        <h3>With</h3>
        <Json value={argumentsOf(approval)} />
      </div>
      <Facts
        of={[
          ["For", textOf(user)],
          ["In the session", <SessionName key="session" id={approval.session_id} />],
          ["Asked", <When key="asked" at={approval.requested_at} />],
          [
            "Decide within",
            approval.due_at === null ? (
              "no limit"
            ) : (
              <span key="due">
                <Countdown until={approval.due_at} />, {afterwards(approval)}
              </span>
            ),
          ],
          [
            "The rule that asks",
            <span key="rule">
              <code>{approval.rule.action}</code> is for {approval.required_role} or above
            </span>,
          ],
          ...(typeof risk === "string"
            ? ([["Risk, as its tool tells it", <Risk key="risk" of={risk} />]] as const)
            : []),
          ...(Array.isArray(resources) && resources.length > 0
            ? ([["Touches", resources.map(textOf).join(", ")]] as const)
            : []),
        ]}
      />
      {Object.keys(rest).length > 0 && (
        <details>
          <summary>All that is known about it</summary>
          <Json value={rest} />
        </details>
      )}
      <p className="row">
        <Link to={addresses.session(approval.session_id)}>Open the session</Link>
        <Link to={addresses.why(approval.session_id, approval.run_id)}>See what the run did so far</Link>
      </p>
      <Decide approval={approval} />
    </article>
  );
}

const RISKY = new Set(["delegated", "destructive"]);

function Risk({ of }: { readonly of: string }) {
  return <Badge tone={RISKY.has(of) ? "bad" : "neutral"}>{of.replaceAll("_", " ")}</Badge>;
}

function Decide({ approval }: { readonly approval: ApprovalOut }) {
  const { data: who } = useMe();
  const [reason, setReason] = useState("");
  const decide = useDecision(approval);
  const not = whyNot(approval, who?.role ?? "", may(who, "approvals:write"));
  if (not !== undefined) return <p className={css.not}>{not}</p>;
  const said = reason.trim();
  const decided = (decision: "approve" | "reject") => decide.mutate({ decision, ...(said !== "" && { reason: said }) });
  return (
    <div className={css.decide}>
      <TextField
        label="Why (kept with the decision)"
        maxLength={2_000}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <div className={css.buttons}>
        <Button look="primary" isBusy={decide.isPending} onClick={() => decided("approve")}>
          Approve
        </Button>
        <Button look="danger" isBusy={decide.isPending} onClick={() => decided("reject")}>
          Reject
        </Button>
      </div>
    </div>
  );
}

function SessionName({ id }: { readonly id: string }) {
  const session = useSession(id);
  return <Link to={addresses.session(id)}>{session.data?.title ?? `Session …${id.slice(-6)}`}</Link>;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "not told" : JSON.stringify(value);
}
