import { Badge } from "../../ui/badge.tsx";
import { Asked, Loading } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { TextDiff } from "../../ui/text-diff.tsx";
import { lengthOf } from "../../ui/time.tsx";
import { type Difference, differences, nodeChanges, type Side, type StagePair, stagePairs } from "./compare.ts";
import { titleOf } from "./graph/graph-node.tsx";
import { useExplanation, useRun } from "./queries.ts";
import css from "./why.module.css";

interface CompareViewProps {
  readonly sessionId: string;
  readonly one: string;
  readonly other: string;
}

/** Two turns side by side, with what differs marked in a word and a colour. */
export function CompareView({ sessionId, one, other }: CompareViewProps) {
  const [left, right] = [useExplanation(sessionId, one), useExplanation(sessionId, other)];
  const [leftRun, rightRun] = [useRun(sessionId, one), useRun(sessionId, other)];
  if (leftRun.isPending || rightRun.isPending) return <Loading what="Reading both turns" />;
  return (
    <Asked query={left}>
      {(oneTold) => (
        <Asked query={right}>
          {(otherTold) => (
            <Compared one={{ told: oneTold, run: leftRun.data }} other={{ told: otherTold, run: rightRun.data }} />
          )}
        </Asked>
      )}
    </Asked>
  );
}

function Compared({ one, other }: { readonly one: Side; readonly other: Side }) {
  const names = [nameOf(one), nameOf(other)] as const;
  const nodes = nodeChanges(one.told.graph.nodes, other.told.graph.nodes);
  return (
    <>
      <Panel title="The answers">
        <p className="soft">
          From {names[1]} to {names[0]}.
        </p>
        <TextDiff before={answerOf(other)} after={answerOf(one)} by="words" />
      </Panel>
      <Panel title="Side by side">
        <Table
          caption="What both turns have, side by side"
          keyOf={(row: Difference) => row.about}
          rows={differences(one, other)}
          columns={[
            { title: "What", of: (row) => row.about },
            { title: names[0], of: (row) => <span className={row.differs ? css.differs : undefined}>{row.one}</span> },
            {
              title: names[1],
              of: (row) => <span className={row.differs ? css.differs : undefined}>{row.other}</span>,
            },
            {
              title: "Same",
              of: (row) => (row.differs ? <Badge tone="warn">differs</Badge> : <span className="soft">same</span>),
            },
          ]}
        />
      </Panel>
      <Panel title="Stages">
        <Table
          caption="How long each stage took"
          keyOf={(row: StagePair) => row.name}
          rows={stagePairs(one.told, other.told)}
          columns={[
            { title: "Stage", of: (row) => row.name },
            { title: names[0], of: (row) => timeOf(row.one), isNumber: true },
            { title: names[1], of: (row) => timeOf(row.other), isNumber: true },
          ]}
        />
      </Panel>
      <Panel title="Nodes">
        <Nodes title={`Only in ${names[0]}`} nodes={nodes.onlyInOne.map(lineOf)} />
        <Nodes title={`Only in ${names[1]}`} nodes={nodes.onlyInOther.map(lineOf)} />
      </Panel>
    </>
  );
}

function Nodes({ title, nodes }: { readonly title: string; readonly nodes: readonly string[] }) {
  return (
    <section>
      <h3>{title}</h3>
      {nodes.length === 0 ? (
        <p className="soft">None.</p>
      ) : (
        <ul className={css.units}>
          {nodes.map((line, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes its order.
            <li key={at}>{line}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

function lineOf(node: { readonly type: string; readonly label: string; readonly status: string }): string {
  return `${node.type} ${titleOf(node)}, ${node.status}`;
}

function nameOf({ told }: Side): string {
  return told.turn === null ? `the run that ${told.status.replaceAll("_", " ")}` : `turn ${told.turn}`;
}

function answerOf({ told, run }: Side): string {
  return run?.text ?? told.preview;
}

function timeOf(microseconds: number | undefined): string {
  return microseconds === undefined ? "not run" : lengthOf(microseconds);
}
