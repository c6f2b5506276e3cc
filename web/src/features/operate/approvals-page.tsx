import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { ApprovalOut } from "../../api/schema.gen.ts";
import { Status } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Asked, Empty } from "../../ui/notice.tsx";
import { Page, Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { ApprovalCard } from "./approval-card.tsx";
import { useAllApprovals, usePending } from "./approval-queries.ts";
import css from "./approvals.module.css";
import { deciderOf } from "./approvals.ts";

/** What agents ask people for: those that wait, and what became of the others. */
export function ApprovalsPage() {
  const pending = usePending();
  return (
    <Page title="Approvals">
      <section aria-label="Waiting for a decision" className="stack">
        <Asked query={pending} what="Looking for approvals">
          {({ items, next }) =>
            items.length === 0 ? (
              <Empty title="Nothing waits for a decision">
                When an agent wants to do something that its policy asks a person about, it waits here until you say yes
                or no.
              </Empty>
            ) : (
              <>
                <p className="soft" role="status">
                  {items.length === 1
                    ? "One decision is asked for. What waits for it stands still until then."
                    : `${items.length} decisions are asked for. What waits for them stands still until then.`}
                </p>
                <ul className={css.cards} aria-label="Pending approvals">
                  {items.map((approval) => (
                    <li key={approval.id}>
                      <ApprovalCard approval={approval} />
                    </li>
                  ))}
                </ul>
                {next != null && <p className="soft">There are more; they appear as these are decided.</p>}
              </>
            )
          }
        </Asked>
      </section>
      <Decided />
    </Page>
  );
}

function Decided() {
  const all = useAllApprovals();
  return (
    <Panel title="Decided">
      <Asked query={all} what="Looking for decisions">
        {({ pages }) => {
          const decided = pages.flatMap((page) => page.items).filter(({ status }) => status !== "pending");
          return decided.length === 0 ? (
            <p className="soft">Nothing was decided yet.</p>
          ) : (
            <DecidedTable approvals={decided} />
          );
        }}
      </Asked>
      {all.hasNextPage && (
        <Button isBusy={all.isFetchingNextPage} onClick={() => void all.fetchNextPage()}>
          Show older ones
        </Button>
      )}
    </Panel>
  );
}

function DecidedTable({ approvals }: { readonly approvals: readonly ApprovalOut[] }) {
  return (
    <Table
      caption="Decided approvals"
      columns={[
        { title: "What became of it", of: (approval) => <Status of={approval.status} /> },
        { title: "Asked for", of: (approval) => <code>{approval.action}</code> },
        { title: "By whom", of: deciderOf },
        { title: "Why", of: (approval) => approval.reason ?? <span className="soft">not said</span> },
        { title: "When", of: (approval) => <When at={approval.decided_at ?? approval.requested_at} /> },
        {
          title: "See",
          of: (approval) => (
            <span className="row">
              <Link to={addresses.session(approval.session_id)}>Session</Link>
              <Link to={addresses.why(approval.session_id, approval.run_id)}>Why</Link>
            </span>
          ),
        },
      ]}
      rows={approvals}
      keyOf={(approval) => approval.id}
    />
  );
}
