import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { AuditOut } from "../../api/schema.gen.ts";
import { Badge } from "../../ui/badge.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Json } from "../../ui/json.tsx";
import { Facts } from "../../ui/panel.tsx";
import { When } from "../../ui/time.tsx";
import { meaningOf } from "./reasons.ts";

interface AuditEntryProps {
  readonly entry: AuditOut | null;
  readonly onClosed: () => void;
}

/** All that one entry says, and where it leads. */
export function AuditEntry({ entry, onClosed }: AuditEntryProps) {
  return (
    <Dialog title={entry === null ? "" : entry.verb} isOpen={entry !== null} onClosed={onClosed} isWide>
      {entry !== null && <Told entry={entry} />}
    </Dialog>
  );
}

function Told({ entry }: { readonly entry: AuditOut }) {
  const { session_id: sessionId, run_id: runId } = entry.facts;
  const isRefused = entry.outcome !== "accepted";
  return (
    <>
      <Facts
        of={[
          ["What became of it", <Outcome key="outcome" of={entry.outcome} />],
          ["When", <When key="when" at={entry.at} />],
          ["Who", `${textOf(entry.facts.user)} (${textOf(entry.facts.role)})`],
        ]}
      />
      {isRefused && (
        <p>
          {meaningOf(entry.outcome).says} {meaningOf(entry.outcome).todo}
        </p>
      )}
      {typeof sessionId === "string" && (
        <p className="row">
          <Link to={addresses.session(sessionId)}>Open the session</Link>
          {typeof runId === "string" && <Link to={addresses.why(sessionId, runId)}>Why it came out so</Link>}
        </p>
      )}
      <Json value={entry.facts} />
      <p className="row soft">
        <span className="grow">
          Hash <code>{entry.hash}</code>
        </span>
        <Copy text={entry.hash} label="Copy the hash" />
      </p>
    </>
  );
}

const GOOD = new Set(["accepted", "ok", "done", "success", "completed"]);

/** A refusal is told by its code. */
export function Outcome({ of }: { readonly of: string }) {
  return <Badge tone={GOOD.has(of) ? "good" : "bad"}>{of}</Badge>;
}

export function textOf(fact: unknown): string {
  return typeof fact === "string" ? fact : fact === undefined || fact === null ? "–" : JSON.stringify(fact);
}
