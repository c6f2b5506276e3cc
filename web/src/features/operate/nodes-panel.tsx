import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { HeldLeaseOut, TurnkeeperServerWireOverviewNodeOut as NodeOut, NodesOut } from "../../api/schema.gen.ts";
import { Badge } from "../../ui/badge.tsx";
import { Asked } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { Countdown, useNow, When } from "../../ui/time.tsx";
import { NodeName } from "./node-name.tsx";
import css from "./operate.module.css";
import { useAsOf, useEveryMs } from "./refreshing.tsx";

/** The processes on this database, and which sessions each of them has in its hands. */
export function NodesPanel({ query }: { readonly query: UseQueryResult<NodesOut> }) {
  return (
    <Panel title="Nodes and their leases">
      <Asked query={query} what="Looking for nodes">
        {({ items }) => (
          <ul className={css.plain} aria-label="Nodes">
            {items.map((node) => (
              <NodeEntry key={node.id} node={node} />
            ))}
          </ul>
        )}
      </Asked>
    </Panel>
  );
}

function NodeEntry({ node }: { readonly node: NodeOut }) {
  return (
    <li className={css.node}>
      <span className="row">
        <NodeName id={node.id} />
        <Badge tone={node.is_alive ? "good" : "bad"}>{node.is_alive ? "alive" : "gone"}</Badge>
        {node.is_here && <Badge tone="accent">answers this page</Badge>}
        <span className={`soft ${css.small}`}>
          {node.seen_at !== null && (
            <>
              seen <When at={node.seen_at} />
            </>
          )}
          {node.started_at !== null && (
            <>
              , started <When at={node.started_at} />
            </>
          )}
          , {node.agents.length} agents, {node.lease_count === 1 ? "1 lease" : `${node.lease_count} leases`}
        </span>
      </span>
      {node.leases.length > 0 && <Leases node={node} />}
    </li>
  );
}

function Leases({ node }: { readonly node: NodeOut }) {
  return (
    <Table
      caption={`Leases of the node ${node.id}`}
      columns={[
        {
          title: "Session",
          of: (lease) => <Link to={addresses.why(lease.session_id, lease.run_id)}>{lease.agent}</Link>,
        },
        { title: "Fence", of: (lease) => lease.fence, isNumber: true },
        { title: "Held", of: (lease) => <When at={lease.taken_at} /> },
        { title: "Ends in", of: (lease) => <LeaseEnd lease={lease} /> },
        { title: "Messages behind it", of: (lease) => lease.queued, isNumber: true },
      ]}
      rows={node.leases}
      keyOf={(lease) => `${lease.session_id} ${lease.run_id}`}
    />
  );
}

/** Counted down between two looks; a living node renews it before it ends. */
function LeaseEnd({ lease }: { readonly lease: HeldLeaseOut }) {
  const now = useNow();
  const { asOf } = useAsOf();
  const isPaused = useEveryMs() === false;
  const isOver = Date.parse(lease.expires_at) <= (isPaused ? asOf : now);
  if (isOver) return <Badge tone="bad">over</Badge>;
  if (isPaused) return <>{Math.round((Date.parse(lease.expires_at) - asOf) / 1_000)} s</>;
  return <Countdown until={lease.expires_at} />;
}
