/** The nodes of a graph as a tree: each once, under what it belongs to, in the order in which they began. */
import type { EdgeOut, GraphOut } from "../../../api/schema.gen.ts";

export type NodeOut = GraphOut["nodes"][number];

export interface Branch {
  readonly node: NodeOut;
  readonly parts: readonly Branch[];
}

/** Nearer than the frame that holds them both: what an attempt used, gave and led to. */
const NEAR = ["produced", "failed_as", "uses", "spawned_from", "contains"];

export function treeOf(graph: GraphOut): readonly Branch[] {
  const holder = holdersOf(graph);
  const parts = new Map<string | undefined, NodeOut[]>();
  for (const node of graph.nodes) {
    const under = holder.get(node.id);
    const siblings = parts.get(under);
    if (siblings === undefined) parts.set(under, [node]);
    else siblings.push(node);
  }
  const grow = (node: NodeOut): Branch => ({ node, parts: (parts.get(node.id) ?? []).map(grow) });
  return (parts.get(undefined) ?? []).map(grow);
}

/** The lines of a tree from top to bottom, each with its depth. */
export function linesOf(tree: readonly Branch[], depth = 0): ReadonlyArray<{ node: NodeOut; depth: number }> {
  return tree.flatMap((branch) => [{ node: branch.node, depth }, ...linesOf(branch.parts, depth + 1)]);
}

function holdersOf(graph: GraphOut): ReadonlyMap<string, string> {
  const holders = new Map<string, string>();
  for (const type of NEAR)
    for (const edge of graph.edges)
      if (edge.type === type && !holders.has(edge.to) && !isAbove(holders, edge)) holders.set(edge.to, edge.from);
  return holders;
}

/** Whether hanging `edge.to` under `edge.from` would close a ring. */
function isAbove(holders: ReadonlyMap<string, string>, edge: EdgeOut): boolean {
  for (let at: string | undefined = edge.from; at !== undefined; at = holders.get(at)) if (at === edge.to) return true;
  return false;
}

/** The edges worth drawing: that a frame holds something is plain where something nearer leads there. */
export function drawnEdges(graph: Pick<GraphOut, "edges">): readonly EdgeOut[] {
  const led = new Set(
    graph.edges.filter((edge) => edge.type !== "contains" && edge.from !== edge.to).map((edge) => edge.to),
  );
  return graph.edges.filter((edge) => edge.type !== "contains" || !led.has(edge.to));
}
