import type { Node, NodeProps } from "@xyflow/react";
import { memo } from "react";
import { Badge } from "../../../ui/badge.tsx";
import { titleOfStage } from "../../../ui/steps.ts";
import { lengthOf } from "../../../ui/time.tsx";
import css from "./graph.module.css";
import { colourOfType, toneOfNode } from "./look.ts";
import type { NodeOut } from "./tree.ts";

export type RunNode = Node<{ readonly node: NodeOut; readonly isAt: boolean; readonly isOpen: boolean }, "run">;

/** One thing that happened, in a box of fixed size: its kind, its name, how it came out and how long it took. */
export const GraphNode = memo(function GraphNode({ id, data }: NodeProps<RunNode>) {
  const { node, isAt, isOpen } = data;
  return (
    <div
      id={domIdOf(id)}
      role="img"
      aria-label={wordsOf(node)}
      className={`${css.node} ${css[toneOfNode(node.status)]} ${isAt ? css.at : ""} ${isOpen ? css.opened : ""}`}
      style={{ borderLeftColor: colourOfType(node.type) }}
    >
      {/* Where edges end: the library looks for these, and for nothing more of its own handles. */}
      <i className={`target ${css.end}`} data-handlepos="top" />
      <i className={`source ${css.end} ${css.below}`} data-handlepos="bottom" />
      <span className={css.label}>{titleOf(node)}</span>
      <span className={css.line}>
        <span className={css.type}>{node.type}</span>
        <Badge tone={toneOfNode(node.status)}>{node.status}</Badge>
        {node.took_us > 0 && <span className={css.took}>{lengthOf(node.took_us)}</span>}
      </span>
    </div>
  );
});

export function titleOf(node: Pick<NodeOut, "type" | "label">): string {
  return node.type === "step" ? titleOfStage(node.label) : node.label;
}

/** What a screen reader says of a node. */
export function wordsOf(node: NodeOut): string {
  const took = node.took_us > 0 ? `, ${lengthOf(node.took_us)}` : "";
  return `${node.type} ${titleOf(node)}, ${node.status}${took}`;
}

export function domIdOf(id: string): string {
  return `node-${encodeURIComponent(id)}`;
}
