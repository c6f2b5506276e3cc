/** Finding a place for every node, so that what follows stands below what it came from. */
import { graphlib, layout } from "@dagrejs/dagre";
import type { GraphOut } from "../../../api/schema.gen.ts";
import { NODE_HEIGHT, NODE_WIDTH, type Plan } from "./plan.ts";

export function layOut(graph: Pick<GraphOut, "nodes" | "edges">): Plan {
  const plan = new graphlib.Graph({ multigraph: true });
  plan.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 44, marginx: 16, marginy: 16 });
  plan.setDefaultEdgeLabel(() => ({}));
  for (const node of graph.nodes) plan.setNode(node.id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const edge of graph.edges) if (edge.from !== edge.to) plan.setEdge(edge.from, edge.to, {}, edge.type);
  layout(plan);
  const places = Object.fromEntries(
    graph.nodes.map(({ id }) => {
      const { x = 0, y = 0 } = plan.node(id);
      return [id, { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 }];
    }),
  );
  const { width = 0, height = 0 } = plan.graph();
  return { places, width, height };
}
