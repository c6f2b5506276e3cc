import type { RefusalsOut } from "../../api/schema.gen.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Asked } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { Chart } from "./charts/chart.tsx";
import { numberOf, type Series } from "./charts/series.ts";
import css from "./operate.module.css";
import { useRefusals } from "./queries.ts";
import { meaningOf } from "./reasons.ts";

const COUNT: readonly Series[] = [{ id: "count", name: "Refused", colour: 4 }];
const MOST_BARS = 10;

interface RefusalsPanelProps {
  readonly days: number;
  readonly reason: string;
  readonly onReasonChosen: (reason: string) => void;
}

/** Refusals by their reason; choosing one shows the entries behind it. */
export function RefusalsPanel({ days, reason, onReasonChosen }: RefusalsPanelProps) {
  const refusals = useRefusals(days);
  return (
    <Asked query={refusals} what="Counting refusals">
      {(told) => (
        <>
          <Chart
            question="Who was turned away, and why?"
            answer={saysWhy(told)}
            along="Reason"
            places={told.items.slice(0, MOST_BARS).map((item) => ({
              key: item.reason,
              name: item.reason,
              fullName: item.reason,
              values: { count: item.count },
            }))}
            series={COUNT}
            isLying
            onChosen={onReasonChosen}
          />
          {told.items.length > 0 && <Meanings told={told} reason={reason} onReasonChosen={onReasonChosen} />}
        </>
      )}
    </Asked>
  );
}

function Meanings({
  told,
  reason,
  onReasonChosen,
}: Pick<RefusalsPanelProps, "reason" | "onReasonChosen"> & { readonly told: RefusalsOut }) {
  return (
    <Panel title="What the reasons mean, and what to do">
      <Table
        caption="Reasons for refusals"
        columns={[
          {
            title: "Reason",
            of: (item) => (
              <span className="row">
                <code className={css.code}>{item.reason}</code>
                <Badge tone="bad">{numberOf(item.count)}</Badge>
              </span>
            ),
          },
          { title: "What it means", of: (item) => meaningOf(item.reason).says },
          { title: "What to do", of: (item) => meaningOf(item.reason).todo },
          { title: "Last", of: (item) => <When at={item.last_at} /> },
          {
            title: "Entries",
            of: (item) => (
              <Button
                aria-pressed={item.reason === reason}
                aria-label={`Show the entries of ${item.reason}`}
                onClick={() => onReasonChosen(item.reason === reason ? "" : item.reason)}
              >
                {item.reason === reason ? "Shown" : "Show"}
              </Button>
            ),
          },
        ]}
        rows={told.items}
        keyOf={(item) => item.reason}
      />
    </Panel>
  );
}

function saysWhy({ items, is_whole }: RefusalsOut): string {
  const all = items.reduce((sum, item) => sum + item.count, 0);
  const most = items.reduce<(typeof items)[number] | undefined>(
    (largest, item) => (largest === undefined || item.count > largest.count ? item : largest),
    undefined,
  );
  if (most === undefined) return "Nobody was turned away in this time.";
  const times = all === 1 ? "Once" : `${numberOf(all)} times`;
  const bound = is_whole ? "" : " Only the newest 50,000 entries are counted; choose a shorter time for all of them.";
  return `${times} something was refused, most often for ${most.reason} (${numberOf(most.count)}).${bound}`;
}
