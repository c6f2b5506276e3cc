import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { RunOut } from "../../api/schema.gen.ts";
import { Status } from "../../ui/badge.tsx";
import { Asked } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { Name } from "./name.tsx";
import css from "./operate.module.css";
import { useFailedRuns } from "./queries.ts";
import { saidTo } from "./said.ts";

/** What went wrong, whosever session it was in; each leads to its Explanation. */
export function FailedPanel() {
  const failed = useFailedRuns();
  return (
    <Panel title="Failed lately">
      <Asked query={failed} what="Looking for runs that failed">
        {({ items, next }) =>
          items.length === 0 ? (
            <p className="soft">
              {next == null ? "In the last 24 hours no run" : "None of the newest runs"} failed, ran out of time or was
              abandoned.
            </p>
          ) : (
            <>
              <FailedTable runs={items} />
              {next != null && <p className="soft">There may be more than are listed here; these are the newest.</p>}
            </>
          )
        }
      </Asked>
    </Panel>
  );
}

function FailedTable({ runs }: { readonly runs: readonly RunOut[] }) {
  return (
    <Table
      caption="Runs that failed lately"
      columns={[
        { title: "Status", of: (run) => <Status of={run.status} /> },
        { title: "When", of: (run) => <When at={run.ended_at ?? run.accepted_at} /> },
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
        {
          title: "What went wrong",
          of: (run) => <span className={css.said}>{run.error?.message ?? "It left no error."}</span>,
        },
        {
          title: "See",
          of: (run) => (
            <Link
              to={addresses.why(run.session_id, run.id)}
              className={css.code ?? ""}
              aria-label={`Why the run of ${run.agent} failed`}
            >
              Why
            </Link>
          ),
        },
      ]}
      rows={runs}
      keyOf={(run) => run.id}
    />
  );
}
