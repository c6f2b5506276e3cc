import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { may, useMe } from "../../api/me.ts";
import type { TurnkeeperServerWireOverviewNodeOut as NodeOut, RunOut } from "../../api/schema.gen.ts";
import { Badge, Status } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { durationOf } from "../../ui/durations.ts";
import { Asked } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { useNow } from "../../ui/time.tsx";
import { Name } from "./name.tsx";
import { NodeName } from "./node-name.tsx";
import css from "./operate.module.css";
import { type LiveRuns, useRepairs } from "./queries.ts";
import { useAsOf, useEveryMs } from "./refreshing.tsx";
import { saidTo } from "./said.ts";
import { ageOf, holdersOf, type Worry } from "./stuck.ts";

interface RunsPanelProps {
  readonly query: UseQueryResult<LiveRuns>;
  readonly nodes: readonly NodeOut[] | undefined;
  readonly worries: readonly Worry[];
}

/** What runs, waits for its turn, or waits for somebody. */
export function RunsPanel({ query, nodes, worries }: RunsPanelProps) {
  const { data: who } = useMe();
  const [asking, setAsking] = useState<RunOut | null>(null);
  const { cancel } = useRepairs();
  return (
    <Panel title="Live runs" aside={query.data !== undefined && <CountOf {...query.data} />}>
      <Asked query={query} what="Looking for runs">
        {({ runs, isCut }) =>
          runs.length === 0 ? (
            <p className="soft">Nothing runs and nothing waits. A message that comes in shows up here.</p>
          ) : (
            <>
              <RunTable
                runs={runs}
                nodes={nodes}
                worries={worries}
                onCancelWanted={may(who, "runs:write") ? setAsking : undefined}
              />
              {isCut && <p className="soft">There are more than are listed here; these are the newest.</p>}
            </>
          )
        }
      </Asked>
      <Confirm
        title="Cancel this run?"
        action="Cancel the run"
        isOpen={asking !== null}
        isBusy={cancel.isPending}
        onClosed={() => setAsking(null)}
        onConfirmed={() => asking !== null && cancel.mutate(asking.id, { onSettled: () => setAsking(null) })}
      >
        <p>
          {asking?.agent} stops where it is, and whoever waits for the answer is told so. What it has done already is
          not undone.
        </p>
        <p className="soft">The session stays open: the next message in it is answered as usual.</p>
      </Confirm>
    </Panel>
  );
}

function CountOf({ runs, isCut }: LiveRuns) {
  const of = (status: string) => runs.filter((run) => run.status === status).length;
  return (
    <span className="soft">
      {isCut && "more than "}
      {of("running")} running, {of("queued")} queued, {of("waiting")} waiting
    </span>
  );
}

interface RunTableProps extends Omit<RunsPanelProps, "query"> {
  readonly runs: readonly RunOut[];
  readonly onCancelWanted: ((run: RunOut) => void) | undefined;
}

function RunTable({ runs, nodes, worries, onCancelWanted }: RunTableProps) {
  const holders = holdersOf(nodes);
  const worrying = new Set(worries.map(({ runId }) => runId));
  return (
    <Table
      caption="Live runs"
      columns={[
        {
          title: "Status",
          of: (run) => (
            <span className="row" id={run.id}>
              <Status of={run.status} />
              {worrying.has(run.id) && <Badge tone="bad">look at this</Badge>}
            </span>
          ),
        },
        { title: "For", of: (run) => <Age run={run} /> },
        { title: "Agent", of: (run) => <Name of={run.agent} /> },
        {
          title: "Said",
          of: (run) => (
            <Link to={addresses.session(run.session_id)} className={css.said ?? ""}>
              {saidTo(run)}
            </Link>
          ),
        },
        { title: "User", of: (run) => <Name of={run.user} /> },
        ...(nodes === undefined
          ? []
          : [{ title: "Node", of: (run: RunOut) => <NodeName id={holders.get(run.id)?.id} /> }]),
        {
          title: "What to do",
          of: (run) => (
            <span className="row">
              <Link to={addresses.why(run.session_id, run.id)}>Why</Link>
              {onCancelWanted !== undefined && (
                <Button look="danger" aria-label={`Cancel the run of ${run.agent}`} onClick={() => onCancelWanted(run)}>
                  Cancel …
                </Button>
              )}
            </span>
          ),
        },
      ]}
      rows={runs}
      keyOf={(run) => run.id}
    />
  );
}

/** Ticks, but stands still while the page is paused. */
function Age({ run }: { readonly run: RunOut }) {
  const now = useNow();
  const { asOf } = useAsOf();
  const isPaused = useEveryMs() === false;
  return <>{durationOf(ageOf(run, isPaused ? asOf : now))}</>;
}
