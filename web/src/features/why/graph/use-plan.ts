import { useEffect, useState } from "react";
import type { GraphOut } from "../../../api/schema.gen.ts";
import type { Plan } from "./plan.ts";
import { drawnEdges } from "./tree.ts";

/** The places of the nodes as soon as they are known; an error if they cannot be found. */
export function usePlan(graph: GraphOut): Plan | Error | undefined {
  const [found, setFound] = useState<{ readonly of: GraphOut; readonly plan: Plan | Error }>();
  useEffect(() => {
    const worker = new Worker(new URL("./layout-worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Plan>) => setFound({ of: graph, plan: data });
    worker.onerror = () =>
      setFound({ of: graph, plan: new Error("The graph could not be drawn. The list shows it all.") });
    // Ids and edges are all that a layout needs; inputs and outputs stay here.
    worker.postMessage({ nodes: graph.nodes.map(({ id }) => ({ id })), edges: drawnEdges(graph) });
    return () => worker.terminate();
  }, [graph]);
  return found?.of === graph ? found.plan : undefined;
}
