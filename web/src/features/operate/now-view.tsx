import { may, useMe } from "../../api/me.ts";
import { DeliveriesPanel } from "./deliveries-panel.tsx";
import { FailedPanel } from "./failed-panel.tsx";
import { NodesPanel } from "./nodes-panel.tsx";
import { useLimits, useLiveRuns, useNodes, useReadiness } from "./queries.ts";
import { useAsOf } from "./refreshing.tsx";
import { RunsPanel } from "./runs-panel.tsx";
import { SessionsPanel } from "./sessions-panel.tsx";
import { worriesOf } from "./stuck.ts";
import { Verdict } from "./verdict.tsx";

const USUAL_RUN_SECONDS = 60;

/** Is anything stuck? */
export function NowView() {
  const { data: who } = useMe();
  const seesNodes = may(who, "nodes:manage");
  const runs = useLiveRuns();
  const nodes = useNodes(seesNodes);
  const readiness = useReadiness();
  const limits = useLimits();
  const { asOf } = useAsOf();
  const isRead = runs.data !== undefined && (nodes.data !== undefined || !seesNodes);
  const worries = worriesOf({
    runs: runs.data?.runs ?? [],
    nodes: nodes.data?.items,
    runSeconds: limits.data?.sizes.run_seconds ?? USUAL_RUN_SECONDS,
    at: asOf,
  });
  return (
    <>
      {isRead && <Verdict worries={worries} readiness={readiness.data} />}
      <RunsPanel query={runs} nodes={nodes.data?.items} worries={worries} />
      <FailedPanel />
      {seesNodes && <NodesPanel query={nodes} />}
      <SessionsPanel />
      {may(who, "deliveries:manage") && <DeliveriesPanel />}
    </>
  );
}
