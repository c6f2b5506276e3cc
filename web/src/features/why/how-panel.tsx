import { lazy, Suspense, useDeferredValue, useRef } from "react";
import { useSearchParams } from "react-router";
import type { ExplanationOut } from "../../api/schema.gen.ts";
import { Button } from "../../ui/button.tsx";
import { useIsNarrow } from "../../ui/media.ts";
import { Empty, Loading } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { NodePanel } from "./graph/node-panel.tsx";
import { NodeRows } from "./graph/node-rows.tsx";
import css from "./why.module.css";

/** Who reads the list never loads what draws. */
const GraphView = lazy(async () => ({ default: (await import("./graph/graph-view.tsx")).GraphView }));

const LOOKS = ["graph", "list", "timeline"] as const;
type Look = (typeof LOOKS)[number];
const NAMES: Readonly<Record<Look, string>> = { graph: "Graph", list: "List", timeline: "Timeline" };
const HINTS: Readonly<Record<Look, string>> = {
  graph:
    "Drag to move, Ctrl and the wheel to zoom. With the keyboard: arrows walk, Enter opens, + and - zoom, 0 shows all.",
  list: "Each line lies below what it belongs to. Open one to see what went in and what came out.",
  timeline: "How long each part took, from the beginning of the run to its end.",
};

/** What happened, step by step: as a graph, as a list, or over time; which one and which node is in the address. */
export function HowPanel({ told }: { readonly told: ExplanationOut }) {
  const [params, setParams] = useSearchParams();
  const isNarrow = useIsNarrow();
  const asked = LOOKS.find((look) => look === params.get("show"));
  const look = asked ?? (isNarrow ? "list" : "graph");
  const shown = useDeferredValue(look);
  const body = useRef<HTMLDivElement>(null);
  const { graph } = told;
  const opened = graph.nodes.find(({ id }) => id === params.get("node"));
  const change = (name: string, value: string | undefined) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === undefined) after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  const onNodeOpened = (id: string) => change("node", id);
  const onClosed = () => {
    change("node", undefined);
    body.current?.querySelector<HTMLElement>("[aria-activedescendant], [aria-pressed=true]")?.focus();
  };
  if (graph.nodes.length === 0)
    return (
      <Panel title="How it went">
        <Empty title="Nothing is known yet">The run has not begun.</Empty>
      </Panel>
    );
  return (
    <Panel title="How it went" aside={<LookSwitch look={look} onLookChosen={(chosen) => change("show", chosen)} />}>
      <p className="soft">{HINTS[look]}</p>
      {graph.left_out > 0 && <p className="soft">{graph.left_out} more nodes were too many to keep.</p>}
      <div ref={body} className={opened === undefined ? css.how : `${css.how} ${css.beside}`}>
        {shown === "graph" ? (
          <Suspense fallback={<Loading what="Drawing the graph" />}>
            <GraphView graph={graph} opened={opened?.id} onNodeOpened={onNodeOpened} />
          </Suspense>
        ) : (
          <NodeRows graph={graph} hasBars={shown === "timeline"} opened={opened?.id} onNodeOpened={onNodeOpened} />
        )}
        {opened !== undefined && (
          <NodePanel graph={graph} node={opened} onNodeOpened={onNodeOpened} onClosed={onClosed} />
        )}
      </div>
    </Panel>
  );
}

function LookSwitch({ look, onLookChosen }: { readonly look: Look; readonly onLookChosen: (look: Look) => void }) {
  return (
    <fieldset className={css.switch}>
      <legend className="unseen">Show as</legend>
      {LOOKS.map((each) => (
        <Button
          key={each}
          look={each === look ? "primary" : "plain"}
          aria-pressed={each === look}
          onClick={() => onLookChosen(each)}
        >
          {NAMES[each]}
        </Button>
      ))}
    </fieldset>
  );
}
