/** Walking a graph by its edges: down to what followed, up to what came before, sideways between those that share one. */
import type { EdgeOut, GraphOut } from "../../../api/schema.gen.ts";

export type Way = "down" | "up" | "left" | "right";

/** Where one comes from `at`; undefined when nothing lies that way. */
export function neighbour(graph: GraphOut, at: string, way: Way): string | undefined {
  switch (way) {
    case "down":
      return nearest(
        graph.edges.filter((edge) => edge.from === at),
        "to",
      );
    case "up":
      return nearest(
        graph.edges.filter((edge) => edge.to === at),
        "from",
      );
    default:
      return beside(graph, at, way === "right" ? 1 : -1);
  }
}

/** Into a part before on to the next execution: who walks down wants to see the inside first. */
const INSIDE_FIRST = ["contains", "spawned_from", "uses", "produced", "failed_as"];

function nearest(edges: readonly EdgeOut[], end: "from" | "to"): string | undefined {
  const inside = edges.find((edge) => INSIDE_FIRST.includes(edge.type));
  return (inside ?? edges[0])?.[end];
}

function beside(graph: GraphOut, at: string, by: 1 | -1): string | undefined {
  const sources = new Set(
    graph.edges.filter((edge) => edge.to === at && edge.type !== "flow").map((edge) => edge.from),
  );
  const shared =
    sources.size > 0
      ? new Set(graph.edges.filter((edge) => sources.has(edge.from) && edge.type !== "flow").map((edge) => edge.to))
      : rowOfSteps(graph);
  const row = graph.nodes.filter((node) => shared.has(node.id)).map((node) => node.id);
  return row[row.indexOf(at) + by];
}

function rowOfSteps(graph: GraphOut): ReadonlySet<string> {
  const led = new Set(graph.edges.filter((edge) => edge.type !== "flow").map((edge) => edge.to));
  return new Set(graph.nodes.filter((node) => !led.has(node.id)).map((node) => node.id));
}
