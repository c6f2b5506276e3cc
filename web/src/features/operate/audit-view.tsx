import { AuditPanel, SPANS } from "./audit-panel.tsx";
import { useChoices } from "./params.ts";
import type { AuditFilters } from "./queries.ts";
import { RefusalsPanel } from "./refusals-panel.tsx";

const USUAL = "day";

/** Who was turned away, and why? */
export function AuditView() {
  const [chosen, choose] = useChoices();
  const span = SPANS.find(([id]) => id === (chosen("span") || USUAL)) ?? SPANS[1];
  const outcome = chosen("outcome");
  const filters: AuditFilters = {
    outcome: outcome === "refused" || outcome === "allowed" ? outcome : "all",
    reason: chosen("reason"),
    user: chosen("user"),
    verb: chosen("verb"),
    days: span?.[2] ?? 1,
  };
  return (
    <>
      <RefusalsPanel
        days={filters.days}
        reason={filters.reason}
        onReasonChosen={(reason) => choose({ reason, outcome: "" })}
      />
      <AuditPanel filters={filters} span={span?.[0] ?? USUAL} onChosen={choose} />
    </>
  );
}
