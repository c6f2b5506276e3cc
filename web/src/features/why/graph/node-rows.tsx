import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useMemo, useRef } from "react";
import type { GraphOut } from "../../../api/schema.gen.ts";
import { Badge } from "../../../ui/badge.tsx";
import { useIsNarrow } from "../../../ui/media.ts";
import { lengthOf } from "../../../ui/time.tsx";
import { titleOf } from "./graph-node.tsx";
import { colourOfType, toneOfNode } from "./look.ts";
import css from "./rows.module.css";
import { linesOf, type NodeOut, treeOf } from "./tree.ts";

interface NodeRowsProps {
  readonly graph: GraphOut;
  readonly opened: string | undefined;
  readonly onNodeOpened: (id: string) => void;
  /** With bars over time it is a timeline, without them a list. */
  readonly hasBars: boolean;
}

const STEP_PX = 14;
const ROW_PX = 36;
const BARRED_ROW_PX = 48;

/** Every node as a line of a tree: all that the graph shows, for those who rather read. Only what is in sight is drawn. */
export function NodeRows({ graph, opened, onNodeOpened, hasBars }: NodeRowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const isNarrow = useIsNarrow();
  const lines = useMemo(() => linesOf(treeOf(graph)), [graph]);
  const whole = useMemo(() => Math.max(1, ...graph.nodes.map((node) => node.began_us + node.took_us)), [graph]);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => (hasBars && isNarrow ? BARRED_ROW_PX : ROW_PX),
    overscan: 8,
  });
  return (
    <div className={hasBars ? css.timeline : undefined}>
      {hasBars && (
        <div className={css.scale} aria-hidden>
          <span>0</span>
          <span>{lengthOf(Math.round(whole / 2))}</span>
          <span>{lengthOf(whole)}</span>
        </div>
      )}
      <div ref={box} className={css.rows}>
        <ul className={css.list} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start, size }) => {
            const line = lines[index];
            if (line === undefined) return null;
            return (
              <li
                key={line.node.id}
                className={css.item}
                style={{ top: start, height: size }}
                aria-posinset={index + 1}
                aria-setsize={lines.length}
              >
                <Row
                  {...line}
                  whole={hasBars ? whole : undefined}
                  isOpen={line.node.id === opened}
                  onNodeOpened={onNodeOpened}
                />
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

interface RowProps {
  readonly node: NodeOut;
  readonly depth: number;
  readonly whole: number | undefined;
  readonly isOpen: boolean;
  readonly onNodeOpened: (id: string) => void;
}

const Row = memo(function Row({ node, depth, whole, isOpen, onNodeOpened }: RowProps) {
  return (
    <button
      type="button"
      className={`${css.row} ${isOpen ? css.opened : ""} ${toneOfNode(node.status) === "bad" ? css.failed : ""}`}
      aria-pressed={isOpen}
      onClick={() => onNodeOpened(node.id)}
    >
      <span className={css.name} style={{ paddingLeft: depth * STEP_PX }}>
        {depth > 0 && <span className="unseen">level {depth + 1}: </span>}
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
