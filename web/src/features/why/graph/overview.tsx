import { ViewportPortal } from "@xyflow/react";
import { memo, useMemo } from "react";
import type { GraphOut } from "../../../api/schema.gen.ts";
import css from "./graph.module.css";
import { toneOfNode } from "./look.ts";
import { NODE_HEIGHT, NODE_WIDTH, type Plan } from "./plan.ts";
import { drawnEdges } from "./tree.ts";

/** From so far away no name can be read. */
export const FAR = 0.35;

/** The whole graph from far away: shapes and colours alone, in a handful of paths however many nodes there are. */
export const Overview = memo(function Overview({ graph, plan }: { readonly graph: GraphOut; readonly plan: Plan }) {
  const boxes = useMemo(() => boxesByTone(graph, plan), [graph, plan]);
  const lines = useMemo(() => linesBetween(graph, plan), [graph, plan]);
  return (
    <ViewportPortal>
      <svg className={css.overview} width={plan.width} height={plan.height} aria-hidden>
        <path d={lines} className={css.farEdge} />
        {[...boxes].map(([tone, path]) => (
          <path key={tone} d={path} className={`${css.farNode} ${css[`far-${tone}`] ?? ""}`} />
        ))}
      </svg>
    </ViewportPortal>
  );
});

/** The node at a point of the plan, if one is there. */
export function nodeAtPoint(plan: Plan, x: number, y: number): string | undefined {
  return Object.entries(plan.places).find(
    ([, place]) => x >= place.x && x <= place.x + NODE_WIDTH && y >= place.y && y <= place.y + NODE_HEIGHT,
  )?.[0];
}

function boxesByTone(graph: GraphOut, plan: Plan): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const { id, status } of graph.nodes) {
    const place = plan.places[id];
    if (place === undefined) continue;
    const tone = toneOfNode(status);
    paths.set(tone, `${paths.get(tone) ?? ""}M${place.x} ${place.y}h${NODE_WIDTH}v${NODE_HEIGHT}h${-NODE_WIDTH}z`);
  }
  return paths;
}

function linesBetween(graph: GraphOut, plan: Plan): string {
  return drawnEdges(graph)
    .map(({ from, to }) => {
      const [one, other] = [plan.places[from], plan.places[to]];
      if (one === undefined || other === undefined) return "";
      return `M${one.x + NODE_WIDTH / 2} ${one.y + NODE_HEIGHT}L${other.x + NODE_WIDTH / 2} ${other.y}`;
    })
    .join("");
}
