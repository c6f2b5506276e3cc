import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { TrafficOut } from "../../api/schema.gen.ts";
import { Status } from "../../ui/badge.tsx";
import { Asked } from "../../ui/notice.tsx";
import { Facts, Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { Chart } from "./charts/chart.tsx";
import { millisecondsOf, numberOf, type Series } from "./charts/series.ts";
import { Figures } from "./figures.tsx";
import css from "./operate.module.css";
import { useTraffic } from "./queries.ts";
import { meaningOf } from "./reasons.ts";
import { bucketsOf, busFacts, type LetIn, letIn, saysHowFast, saysWhoIsLetIn } from "./traffic.ts";

const COUNT: readonly Series[] = [{ id: "count", name: "Messages", colour: 1 }];
const LET_IN: readonly Series[] = [
  { id: "accepted", name: "Let in", colour: 2 },
  { id: "refused", name: "Refused", colour: 4 },
];

/** Is it fast, and are people let in? */
export function TrafficView() {
  const traffic = useTraffic();
  return (
    <Asked query={traffic} what="Reading the counts">
      {(told) => <Told traffic={told} />}
    </Asked>
  );
}

function Told({ traffic }: { readonly traffic: TrafficOut }) {
  const { acceptance, process } = traffic;
  const told = letIn(traffic.envelopes);
  return (
    <>
      <p className="soft">
        Counted by the node that answers this page since it began, <When at={traffic.since} />. Other nodes count their
        own.
      </p>
      <Figures
        of={[
          { name: "Half are accepted within", value: millisecondsOf(acceptance.p50_ms), note: "p50" },
          { name: "99 of 100 within", value: millisecondsOf(acceptance.p99_ms), note: "p99" },
          { name: "Let in", value: numberOf(told.accepted), note: "messages" },
          { name: "Refused", value: numberOf(told.refused), note: "messages" },
          { name: "Frames dropped", value: numberOf(process.dropped_frames), note: "that slow readers missed" },
        ]}
      />
      <div className={css.two}>
        <Chart
          question="How long does it take to accept a message?"
          answer={saysHowFast(acceptance)}
          along="Accepted within"
          places={bucketsOf(acceptance)}
          series={COUNT}
        />
        <div className={css.column}>
          <Chart
            question="Who is let in?"
            answer={saysWhoIsLetIn(told)}
            along="Channel"
            places={told.byChannel}
            series={LET_IN}
            isLying
          />
          <Reasons told={told} />
        </div>
      </div>
      <div className={css.two}>
        <Resumes traffic={traffic} />
        <Process process={process} />
      </div>
    </>
  );
}

function Reasons({ told }: { readonly told: LetIn }) {
  if (told.byReason.length === 0) return null;
  return (
    <Panel title="Why messages were refused" aside={<Link to={`${addresses.operate}?view=audit`}>Who was it?</Link>}>
      <Table
        caption="Why messages were refused"
        columns={[
          { title: "Reason", of: ({ reason }) => <code className={css.code}>{reason}</code> },
          { title: "What it means", of: ({ reason }) => meaningOf(reason).says },
          { title: "Messages", of: ({ count }) => numberOf(count), isNumber: true },
        ]}
        rows={told.byReason}
        keyOf={({ reason }) => reason}
      />
    </Panel>
  );
}

function Resumes({ traffic }: { readonly traffic: TrafficOut }) {
  return (
    <Panel title="Do people find back to their sessions?">
      {traffic.resumes.length === 0 ? (
        <p className="soft">Nobody has gone on with a session since this node began.</p>
      ) : (
        <Table
          caption="Sessions that were to be gone on with"
          columns={[
            { title: "What happened", of: ({ outcome }) => <Status of={outcome} /> },
            { title: "Reason", of: ({ reason }) => (reason === "" ? "" : <code>{reason}</code>) },
            { title: "Times", of: ({ count }) => numberOf(count), isNumber: true },
          ]}
          rows={traffic.resumes}
          keyOf={({ outcome, reason }) => `${outcome} ${reason}`}
        />
      )}
    </Panel>
  );
}

function Process({ process }: { readonly process: TrafficOut["process"] }) {
  const { checkpoints, warnings, bus } = process;
  return (
    <Panel title="What goes on inside this process?">
      <Facts
        of={[
          ["Checkpoints written", numberOf(checkpoints.count)],
          ["Half of them within", millisecondsOf(checkpoints.p50_ms)],
          ["99 of 100 within", millisecondsOf(checkpoints.p99_ms)],
        ]}
      />
      <h3>Bus</h3>
      {bus === null ? <p className="soft">No bus runs beside this process.</p> : <Facts of={busFacts(bus)} />}
      <h3>Warnings</h3>
      {warnings.length === 0 ? (
        <p className="soft">No channel has warned of anything.</p>
      ) : (
        <Table
          caption="Warnings"
          columns={[
            { title: "Channel", of: ({ channel }) => channel },
            { title: "Warning", of: ({ code }) => <code>{code}</code> },
            { title: "Times", of: ({ count }) => numberOf(count), isNumber: true },
          ]}
          rows={warnings}
          keyOf={({ channel, code }) => `${channel} ${code}`}
        />
      )}
      <p className={`soft ${css.small}`}>These are of all tenants together.</p>
    </Panel>
  );
}
