import { memo, useMemo } from "react";
import type { GraphOut } from "../../../api/schema.gen.ts";
import { Badge } from "../../../ui/badge.tsx";
import { lengthOf } from "../../../ui/time.tsx";
import { titleOf } from "./graph-node.tsx";
import { colourOfType, toneOfNode } from "./look.ts";
import css from "./rows.module.css";
import { type Branch, type NodeOut, treeOf } from "./tree.ts";

interface NodeRowsProps {
  readonly graph: GraphOut;
  readonly opened: string | undefined;
  readonly onNodeOpened: (id: string) => void;
  /** With bars over time it is a timeline, without them a list. */
  readonly hasBars: boolean;
}

/** Every node as a line of a tree: all that the graph shows, for those who rather read. */
export function NodeRows({ graph, opened, onNodeOpened, hasBars }: NodeRowsProps) {
  const tree = useMemo(() => treeOf(graph), [graph]);
  const whole = useMemo(() => Math.max(1, ...graph.nodes.map((node) => node.began_us + node.took_us)), [graph]);
  return (
    <div className={`${css.rows} ${hasBars ? css.timeline : ""}`}>
      {hasBars && (
        <div className={css.scale} aria-hidden>
          <span>0</span>
          <span>{lengthOf(Math.round(whole / 2))}</span>
          <span>{lengthOf(whole)}</span>
        </div>
      )}
      <Branches tree={tree} whole={hasBars ? whole : undefined} opened={opened} onNodeOpened={onNodeOpened} />
    </div>
  );
}

interface BranchesProps {
  readonly tree: readonly Branch[];
  readonly whole: number | undefined;
  readonly opened: string | undefined;
  readonly onNodeOpened: (id: string) => void;
}

function Branches({ tree, whole, opened, onNodeOpened }: BranchesProps) {
  return (
    <ul className={css.list}>
      {tree.map(({ node, parts }) => (
        <li key={node.id} className={css.item}>
          <Row node={node} whole={whole} isOpen={node.id === opened} onNodeOpened={onNodeOpened} />
          {parts.length > 0 && <Branches tree={parts} whole={whole} opened={opened} onNodeOpened={onNodeOpened} />}
        </li>
      ))}
    </ul>
  );
}

interface RowProps {
  readonly node: NodeOut;
  readonly whole: number | undefined;
  readonly isOpen: boolean;
  readonly onNodeOpened: (id: string) => void;
}

const Row = memo(function Row({ node, whole, isOpen, onNodeOpened }: RowProps) {
  return (
    <button
      type="button"
      className={`${css.row} ${isOpen ? css.opened : ""} ${toneOfNode(node.status) === "bad" ? css.failed : ""}`}
      aria-pressed={isOpen}
      onClick={() => onNodeOpened(node.id)}
    >
      <span className={css.name}>
        <span className={css.dot} style={{ background: colourOfType(node.type) }} />
        <span className={css.type}>{node.type}</span>
        <span className={css.label}>{titleOf(node)}</span>
        <Badge tone={toneOfNode(node.status)}>{node.status}</Badge>
      </span>
      {whole !== undefined && <Bar node={node} whole={whole} />}
      <span className={css.took}>
        {whole !== undefined && <span className="unseen">began at {lengthOf(node.began_us)}, took </span>}
        {lengthOf(node.took_us)}
      </span>
    </button>
  );
});

function Bar({ node, whole }: { readonly node: NodeOut; readonly whole: number }) {
  const left = (node.began_us / whole) * 100;
  const width = (node.took_us / whole) * 100;
  return (
    <span className={css.track} aria-hidden>
      <span
        className={`${css.bar} ${toneOfNode(node.status) === "bad" ? css.badBar : ""}`}
        style={{ left: `${left}%`, width: `${Math.min(width, 100 - left)}%` }}
      />
    </span>
  );
}
