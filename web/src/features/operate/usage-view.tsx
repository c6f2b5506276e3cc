import type { Span, UsageOut } from "../../api/schema.gen.ts";
import { SelectField } from "../../ui/field.tsx";
import { Asked } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { Chart } from "./charts/chart.tsx";
import { numberOf } from "./charts/series.ts";
import { Figures } from "./figures.tsx";
import css from "./operate.module.css";
import { useChoices } from "./params.ts";
import { useUsage } from "./queries.ts";
import {
  byAgent,
  drawnByAgent,
  drawnByEnd,
  MEASURES,
  type Measure,
  saysHowItEnds,
  saysWhoSpends,
  tellingMeasure,
} from "./usage.ts";

const SPANS: ReadonlyArray<readonly [number, string]> = [
  [1, "24 hours"],
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
  [365, "a year"],
];
const USUAL_DAYS = 1;
/** By the hour no more than a month is told. */
const MOST_DAYS_BY_HOUR = 30;

/** What does it cost, and who uses it? */
export function UsageView() {
  const [chosen, choose] = useChoices();
  const days = SPANS.find(([days]) => String(days) === chosen("days"))?.[0] ?? USUAL_DAYS;
  const isHourly = days <= MOST_DAYS_BY_HOUR && (chosen("by") === "" ? days === 1 : chosen("by") === "hour");
  const by: Span = isHourly ? "hour" : "day";
  const usage = useUsage(by, days);
  return (
    <>
      <div className={css.filters}>
        <SelectField label="The last" value={days} onChange={(event) => choose({ days: event.target.value, by: "" })}>
          {SPANS.map(([days, name]) => (
            <option key={days} value={days}>
              {name}
            </option>
          ))}
        </SelectField>
        <SelectField label="Told by" value={by} onChange={(event) => choose({ by: event.target.value })}>
          <option value="hour" disabled={days > MOST_DAYS_BY_HOUR}>
            hour
          </option>
          <option value="day">day</option>
        </SelectField>
        <MeasureField usage={usage.data} measure={chosen("of")} onChosen={(of) => choose({ of })} />
      </div>
      <Asked query={usage} what="Adding it up">
        {(told) => <Told usage={told} measure={measureOf(told, chosen("of"))} />}
      </Asked>
    </>
  );
}

function measureOf(usage: UsageOut, chosen: string): Measure {
  return chosen in MEASURES ? (chosen as Measure) : tellingMeasure(usage.total);
}

interface MeasureFieldProps {
  readonly usage: UsageOut | undefined;
  readonly measure: string;
  readonly onChosen: (measure: string) => void;
}

function MeasureField({ usage, measure, onChosen }: MeasureFieldProps) {
  const value = usage === undefined ? measure || "runs" : measureOf(usage, measure);
  return (
    <SelectField label="Drawn by agent" value={value} onChange={(event) => onChosen(event.target.value)}>
      {Object.entries(MEASURES).map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}

function Told({ usage, measure }: { readonly usage: UsageOut; readonly measure: Measure }) {
  const { total } = usage;
  return (
    <>
      <Figures
        of={[
          { name: "Cost", value: numberOf(total.cost_cents), note: "cents" },
          { name: "Tokens", value: numberOf(total.tokens) },
          { name: "Runs", value: numberOf(total.runs), note: `${numberOf(total.failed)} failed` },
          { name: "Tool calls", value: numberOf(total.tool_calls) },
          { name: "Model calls", value: numberOf(total.model_calls) },
        ]}
      />
      <p className="soft">Hours and days are those of UTC.</p>
      <Chart
        question={measure === "cost_cents" ? "What does it cost, and who spends it?" : "Who uses it, and how much?"}
        answer={saysWhoSpends(usage, measure)}
        along={usage.by === "hour" ? "Hour" : "Day"}
        {...drawnByAgent(usage, measure)}
      />
      <Chart
        question="Do the runs succeed?"
        answer={saysHowItEnds(total)}
        along={usage.by === "hour" ? "Hour" : "Day"}
        {...drawnByEnd(usage)}
      />
      <Agents usage={usage} />
    </>
  );
}

function Agents({ usage }: { readonly usage: UsageOut }) {
  const agents = [...byAgent(usage)].sort(
    (one, other) => other.spent.cost_cents - one.spent.cost_cents || other.spent.runs - one.spent.runs,
  );
  if (agents.length === 0) return null;
  return (
    <Panel title="By agent">
      <Table
        caption="What each agent has spent"
        columns={[
          { title: "Agent", of: ({ agent }) => agent },
          { title: "Runs", of: ({ spent }) => numberOf(spent.runs), isNumber: true },
          { title: "Failed", of: ({ spent }) => numberOf(spent.failed), isNumber: true },
          { title: "Tokens", of: ({ spent }) => numberOf(spent.tokens), isNumber: true },
          { title: "Cents", of: ({ spent }) => numberOf(spent.cost_cents), isNumber: true },
          { title: "Tool calls", of: ({ spent }) => numberOf(spent.tool_calls), isNumber: true },
        ]}
        rows={agents}
        keyOf={({ agent }) => agent}
      />
    </Panel>
  );
}
