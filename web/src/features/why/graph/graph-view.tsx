import { type Edge, MarkerType, Position, ReactFlow, ReactFlowProvider, useReactFlow, useStore } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { Maximize, Minus, Plus } from "lucide-react";
import { type KeyboardEvent, type MouseEvent, useEffect, useMemo, useRef, useState } from "react";
import type { GraphOut } from "../../../api/schema.gen.ts";
import { IconButton } from "../../../ui/button.tsx";
import { Loading, ProblemNotice } from "../../../ui/notice.tsx";
import { isBad } from "../story.ts";
import css from "./graph.module.css";
import { domIdOf, GraphNode, type RunNode, wordsOf } from "./graph-node.tsx";
import { FAR, nodeAtPoint, Overview } from "./overview.tsx";
import { firstView, NODE_HEIGHT, NODE_WIDTH, type Plan, READABLE, wholeView } from "./plan.ts";
import { drawnEdges } from "./tree.ts";
import { usePlan } from "./use-plan.ts";
import { neighbour, type Way } from "./walk.ts";

interface GraphViewProps {
  readonly graph: GraphOut;
  /** The node whose panel is open. */
  readonly opened: string | undefined;
  readonly onNodeOpened: (id: string) => void;
}

export function GraphView(props: GraphViewProps) {
  const plan = usePlan(props.graph);
  if (plan === undefined) return <Loading what="Drawing the graph" />;
  if (plan instanceof Error) return <ProblemNotice problem={plan} />;
  return (
    <ReactFlowProvider>
      <Canvas {...props} plan={plan} />
    </ReactFlowProvider>
  );
}

const KINDS = { run: GraphNode };
const WAYS: Readonly<Record<string, Way>> = {
  ArrowDown: "down",
  ArrowUp: "up",
  ArrowLeft: "left",
  ArrowRight: "right",
};
const SMALLEST = 0.05;
const NOTHING: never[] = [];

function Canvas({ graph, plan, opened, onNodeOpened }: GraphViewProps & { readonly plan: Plan }) {
  const flow = useReactFlow<RunNode>();
  const frame = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(() => opened ?? whereItMatters(graph));
  const nodes = useNodes(graph, plan, at, opened);
  const edges = useMemo(() => edgesOf(graph), [graph]);
  const node = graph.nodes.find(({ id }) => id === at);

  const goTo = (id: string) => {
    setAt(id);
    const place = plan.places[id];
    if (place !== undefined)
      void flow.setCenter(place.x + NODE_WIDTH / 2, place.y + NODE_HEIGHT / 2, {
        zoom: Math.max(flow.getZoom(), READABLE),
      });
  };
  const [isLeaving, setLeaving] = useState(false);
  const isFar = useStore((state) => state.transform[2] < FAR) || isLeaving;
  const begin = () => {
    const box = frame.current?.getBoundingClientRect();
    if (box !== undefined) void flow.setViewport(firstView(plan, box, at));
  };
  const showAll = () => {
    const box = frame.current?.getBoundingClientRect();
    if (box === undefined) return;
    const view = wholeView(plan, box);
    // The nodes go first: otherwise each would be drawn once, to be gone in the next moment.
    setLeaving(view.zoom < FAR);
    requestAnimationFrame(() => void flow.setViewport(view).then(() => setLeaving(false)));
  };
  const onFarClicked = (event: MouseEvent) => {
    const point = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const found = isFar ? nodeAtPoint(plan, point.x, point.y) : undefined;
    if (found !== undefined) goTo(found);
  };
  useEffect(() => {
    if (opened !== undefined) setAt(opened);
  }, [opened]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const way = WAYS[event.key];
    if (way !== undefined) {
      const next = at === undefined ? graph.nodes[0]?.id : neighbour(graph, at, way);
      if (next !== undefined) goTo(next);
    } else if (event.key === "Home") goTo(graph.nodes[0]?.id ?? "");
    else if (event.key === "Enter" && at !== undefined) onNodeOpened(at);
    else if (event.key === "+" || event.key === "=") void flow.zoomIn();
    else if (event.key === "-") void flow.zoomOut();
    else if (event.key === "0") showAll();
    else return;
    event.preventDefault();
  };

  return (
    <div className={css.frame}>
      <ReactFlow<RunNode>
        ref={frame}
        className={css.canvas}
        nodes={isFar ? NOTHING : nodes}
        edges={isFar ? NOTHING : edges}
        nodeTypes={KINDS}
        onInit={begin}
        onPaneClick={onFarClicked}
        onNodeClick={(_, { id }) => onNodeOpened(id)}
        onlyRenderVisibleElements
        minZoom={SMALLEST}
        maxZoom={2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        preventScrolling={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
        panActivationKeyCode={null}
        proOptions={{ hideAttribution: true }}
        tabIndex={0}
        aria-label="Graph of this run. Arrow keys walk along its edges, Enter opens a node."
        aria-activedescendant={at === undefined || isFar ? undefined : domIdOf(at)}
        onKeyDown={onKeyDown}
      >
        {isFar && <Overview graph={graph} plan={plan} />}
      </ReactFlow>
      <div className={css.tools}>
        <IconButton label="Zoom in" look="plain" onClick={() => void flow.zoomIn()}>
          <Plus aria-hidden />
        </IconButton>
        <IconButton label="Zoom out" look="plain" onClick={() => void flow.zoomOut()}>
          <Minus aria-hidden />
        </IconButton>
        <IconButton label="Show all of it" look="plain" onClick={() => showAll()}>
          <Maximize aria-hidden />
        </IconButton>
      </div>
      <p className="unseen" aria-live="polite">
        {node === undefined ? "" : wordsOf(node)}
      </p>
    </div>
  );
}

/** The last thing that went wrong, else the beginning. */
function whereItMatters(graph: GraphOut): string | undefined {
  return (graph.nodes.findLast((node) => isBad(node.status)) ?? graph.nodes[0])?.id;
}

/** Only those nodes are made anew that one comes to or leaves. */
function useNodes(graph: GraphOut, plan: Plan, at: string | undefined, opened: string | undefined): RunNode[] {
  const plain = useMemo(() => graph.nodes.map((node) => nodeAt(node, plan)), [graph, plan]);
  return useMemo(
    () =>
      plain.map((node) =>
        node.id === at || node.id === opened
          ? { ...node, data: { ...node.data, isAt: node.id === at, isOpen: node.id === opened } }
          : node,
      ),
    [plain, at, opened],
  );
}

const SIZE = { width: NODE_WIDTH, height: NODE_HEIGHT };
const HANDLES = [
  { type: "target" as const, position: Position.Top, x: NODE_WIDTH / 2, y: 0, width: 1, height: 1 },
  { type: "source" as const, position: Position.Bottom, x: NODE_WIDTH / 2, y: NODE_HEIGHT, width: 1, height: 1 },
];

function nodeAt(node: GraphOut["nodes"][number], plan: Plan): RunNode {
  return {
    id: node.id,
    type: "run",
    position: plan.places[node.id] ?? { x: 0, y: 0 },
    data: { node, isAt: false, isOpen: false },
    // Known beforehand, so that nothing has to be measured.
    ...SIZE,
    measured: SIZE,
    handles: HANDLES,
  };
}

function edgesOf(graph: GraphOut): Edge[] {
  return drawnEdges(graph).map((edge) => ({
    id: `${edge.type} ${edge.from} ${edge.to}`,
    source: edge.from,
    target: edge.to,
    style: { stroke: "var(--line-strong)", ...(edge.type !== "flow" && { strokeDasharray: "4 4" }) },
    markerEnd: { type: MarkerType.ArrowClosed, color: "var(--line-strong)", width: 14, height: 14 },
  }));
}
