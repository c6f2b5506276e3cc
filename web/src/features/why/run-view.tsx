import { useSearchParams } from "react-router";
import { SelectField } from "../../ui/field.tsx";
import { Asked } from "../../ui/notice.tsx";
import { CompareView } from "./compare-view.tsx";
import { HowPanel } from "./how-panel.tsx";
import { BudgetPanel, DonePanel, RanPanel, RawPanel, UnitsPanel } from "./more-panels.tsx";
import { useExplanation, useRenewal, useRun } from "./queries.ts";
import type { RunLine } from "./run-line.ts";
import { StoryPanel } from "./story-panel.tsx";
import css from "./why.module.css";

interface RunViewProps {
  readonly sessionId: string;
  readonly runId: string;
  readonly runs: readonly RunLine[];
}

/** Why one run came out as it did, or how it differs from another one. */
export function RunView({ sessionId, runId, runs }: RunViewProps) {
  const [params] = useSearchParams();
  const other = params.get("with");
  const choice = <CompareChoice runs={runs.filter((run) => run.run_id !== runId)} />;
  return (
    <div className={css.view}>
      {other === null ? (
        <Explained sessionId={sessionId} runId={runId}>
          {choice}
        </Explained>
      ) : (
        <>
          {choice}
          <CompareView sessionId={sessionId} one={runId} other={other} />
        </>
      )}
    </div>
  );
}

interface ExplainedProps {
  readonly sessionId: string;
  readonly runId: string;
  readonly children: React.ReactNode;
}

function Explained({ sessionId, runId, children }: ExplainedProps) {
  const explanation = useExplanation(sessionId, runId);
  const run = useRun(sessionId, runId);
  useRenewal(sessionId, runId, explanation.data?.status);
  return (
    <Asked query={explanation} what="Reading the explanation">
      {(told) => (
        <>
          <StoryPanel told={told} answer={run.data?.text ?? undefined}>
            {children}
          </StoryPanel>
          <HowPanel told={told} />
          <div className={css.pair}>
            <UnitsPanel told={told} />
            <BudgetPanel told={told} run={run.data} />
          </div>
          <RanPanel told={told} run={run.data} />
          <DonePanel told={told} />
          <RawPanel told={told} />
        </>
      )}
    </Asked>
  );
}

function CompareChoice({ runs }: { readonly runs: readonly RunLine[] }) {
  const [params, setParams] = useSearchParams();
  if (runs.length === 0) return null;
  return (
    <div className={css.choice}>
      <SelectField
        label="Compare with"
        value={params.get("with") ?? ""}
        onChange={(event) => setParams(event.target.value === "" ? {} : { with: event.target.value })}
      >
        <option value="">no other turn</option>
        {runs.map((run) => (
          <option key={run.run_id} value={run.run_id}>
            {run.turn === null ? run.status : `turn ${run.turn}`}: {run.asked.slice(0, 60)}
          </option>
        ))}
      </SelectField>
    </div>
  );
}
