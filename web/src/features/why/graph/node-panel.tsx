import { X } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import type { EdgeOut, GraphOut } from "../../../api/schema.gen.ts";
import { Badge } from "../../../ui/badge.tsx";
import { IconButton } from "../../../ui/button.tsx";
import { Json } from "../../../ui/json.tsx";
import { Facts } from "../../../ui/panel.tsx";
import { placeOfStage } from "../../../ui/steps.ts";
import { lengthOf } from "../../../ui/time.tsx";
import { titleOf } from "./graph-node.tsx";
import { toneOfNode } from "./look.ts";
import css from "./node-panel.module.css";
import type { NodeOut } from "./tree.ts";

interface NodePanelProps {
  readonly graph: GraphOut;
  readonly node: NodeOut;
  readonly onNodeOpened: (id: string) => void;
  readonly onClosed: () => void;
}

/** All that is known of one node: beside the graph, or from below on a phone. */
export function NodePanel({ graph, node, onNodeOpened, onClosed }: NodePanelProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever opens another node is to hear of it.
  useEffect(() => heading.current?.focus({ preventScroll: true }), [node.id]);
  const step = node.type === "step" ? placeOfStage(node.label) : undefined;
  return (
    <aside
      className={css.panel}
      aria-label="Node"
      onKeyDown={(event) => {
        if (event.key === "Escape") onClosed();
      }}
    >
      <header className={css.head}>
        <h3 ref={heading} tabIndex={-1} className="grow">
          {titleOf(node)}
        </h3>
        <IconButton label="Close the node" onClick={onClosed}>
          <X aria-hidden />
        </IconButton>
      </header>
      {step !== undefined && <p className="soft">In this step {step.says}.</p>}
      <Facts
        of={[
          ["Kind", node.type],
          [
            "Status",
            <Badge key="status" tone={toneOfNode(node.status)}>
              {node.status}
            </Badge>,
          ],
          ["Began after", lengthOf(node.began_us)],
          ["Took", lengthOf(node.took_us)],
        ]}
      />
      {node.error !== null && (
        <Said title="Error">
          <p className={css.error}>{node.error}</p>
        </Said>
      )}
      <Text title="Input" of={node.input} />
      <Text title="Output" of={node.output} />
      {Object.keys(node.metadata).length > 0 && (
        <Said title={node.type === "step" || node.type === "decision" ? "What was decided" : "More"}>
          <Json value={node.metadata} />
        </Said>
      )}
      <Neighbours
        graph={graph}
        title="Comes from"
        edges={graph.edges.filter((edge) => edge.to === node.id)}
        end="from"
        onNodeOpened={onNodeOpened}
      />
      <Neighbours
        graph={graph}
        title="Leads to"
        edges={graph.edges.filter((edge) => edge.from === node.id)}
        end="to"
        onNodeOpened={onNodeOpened}
      />
    </aside>
  );
}

function Said({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section>
      <h4 className={css.title}>{title}</h4>
      {children}
    </section>
  );
}

function Text({ title, of }: { readonly title: string; readonly of: string | null }) {
  return of === null ? null : (
    <Said title={title}>
      <Json value={readable(of)} />
    </Said>
  );
}

/** Short JSON is shown as what it is; what was cut is not JSON any more and stays as it came. */
function readable(text: string): unknown {
  if (!/^[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

interface NeighboursProps {
  readonly graph: GraphOut;
  readonly title: string;
  readonly edges: readonly EdgeOut[];
  readonly end: "from" | "to";
  readonly onNodeOpened: (id: string) => void;
}

const MOST_SHOWN = 12;

function Neighbours({ graph, title, edges, end, onNodeOpened }: NeighboursProps) {
  if (edges.length === 0) return null;
  return (
    <Said title={title}>
      <ul className={css.neighbours}>
        {edges.slice(0, MOST_SHOWN).map((edge) => (
          <li key={`${edge.type} ${edge[end]}`}>
            <button type="button" className={css.link} onClick={() => onNodeOpened(edge[end])}>
              {titleOf(graph.nodes.find(({ id }) => id === edge[end]) ?? { type: "", label: edge[end] })}
            </button>{" "}
            <span className="soft">({edge.type.replaceAll("_", " ")})</span>
          </li>
        ))}
        {edges.length > MOST_SHOWN && <li className="soft">and {edges.length - MOST_SHOWN} more</li>}
      </ul>
    </Said>
  );
}
