import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { may, useMe } from "../../api/me.ts";
import type { LimitsOut, StorageOut } from "../../api/schema.gen.ts";
import { durationOf } from "../../ui/durations.ts";
import { Asked } from "../../ui/notice.tsx";
import { Facts, Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { bytesOf, numberOf } from "./charts/series.ts";
import css from "./operate.module.css";
import { useLimits, useStorage } from "./queries.ts";

/** How far may one go, and what is left of it? */
export function LimitsView() {
  const { data: who } = useMe();
  const limits = useLimits();
  return (
    <>
      <Asked query={limits} what="Reading the limits">
        {(told) => (
          <>
            <div className={css.two}>
              <Rates limits={told} />
              <Allowances limits={told} />
            </div>
            <Sizes limits={told} />
          </>
        )}
      </Asked>
      {may(who, "storage:manage") && <Storage />}
    </>
  );
}

function Rates({ limits }: { readonly limits: LimitsOut }) {
  return (
    <Panel title="How much may be sent right now?">
      <ul className={css.meters} aria-label="Rates">
        {limits.rates.map(({ name, per_second, burst, left }) => (
          <li key={name}>
            <strong>{name.startsWith("key:") ? "With this key" : nameOf(name)}</strong>
            <span>
              {numberOf(Math.floor(left))} of {numberOf(burst)} left, {numberOf(per_second)} more a second
            </span>
            <meter aria-label={`${name} left`} min={0} max={burst} low={burst / 4} optimum={burst} value={left} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Allowances({ limits }: { readonly limits: LimitsOut }) {
  return (
    <Panel title="How much of what there may be is used?">
      <ul className={css.meters} aria-label="Allowances">
        {limits.allowances.map(({ name, limit, used }) => {
          const tell = name.endsWith("_bytes") ? bytesOf : numberOf;
          return (
            <li key={name}>
              <strong>{nameOf(name)}</strong>
              <span>
                {tell(used)} of {tell(limit)} used
              </span>
              <meter aria-label={`${name} used`} min={0} max={limit} high={limit * 0.8} optimum={0} value={used} />
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

const NAMES: Readonly<Record<string, string>> = {
  messages: "Messages",
  streams: "Open streams",
  storage_bytes: "Stored content",
  runs_monthly: "Runs this month",
  sessions: "Living sessions",
  queue_limit: "Messages waiting in a session",
  queue_seconds: "A message waits at most",
  run_seconds: "A run takes at most",
  long_runs: "Long runs at once",
  message_chars: "Characters in a message",
  output_chars: "Characters in an answer",
  body_bytes: "A request",
  body_depth: "Levels in its JSON",
  metadata_bytes: "Metadata of a message",
  carried_bytes: "A session carried by its client",
  import_bytes: "A session brought along",
  artifact_bytes: "A file",
  session_units: "Units in a session",
  mounts: "Mounts of a session",
  keys: "Keys of a user",
};

function nameOf(name: string): string {
  return NAMES[name] ?? name.replaceAll("_", " ");
}

function sizeOf(name: string, value: number): string {
  if (name.endsWith("_bytes")) return bytesOf(value);
  return name.endsWith("_seconds") ? durationOf(Math.round(value)) : numberOf(value);
}

function Sizes({ limits }: { readonly limits: LimitsOut }) {
  return (
    <Panel title="How large may things be?">
      <Facts of={Object.entries(limits.sizes).map(([name, value]) => [nameOf(name), sizeOf(name, value)])} />
      <p className="soft">Whoever runs the house sets these.</p>
    </Panel>
  );
}

const LARGEST = 5;

function Storage() {
  const storage = useStorage(true);
  return (
    <Panel title="What is stored, and where?">
      <Asked query={storage} what="Adding up what is stored">
        {(told) => <Stored storage={told} />}
      </Asked>
    </Panel>
  );
}

function Stored({ storage }: { readonly storage: StorageOut }) {
  return (
    <>
      <Facts
        of={[
          ["Content", bytesOf(storage.blob_bytes)],
          ["Pieces of content", numberOf(storage.blobs)],
          ["Artifacts", numberOf(storage.artifacts)],
          ["Manifests", numberOf(storage.manifests)],
        ]}
      />
      <h3>By class</h3>
      <Table
        caption="What is stored, by class"
        columns={[
          { title: "Class", of: ([name]) => (name === "none" ? "without a class" : name) },
          { title: "Sessions", of: ([, told]) => numberOf(told.sessions), isNumber: true },
          { title: "Messages", of: ([, told]) => bytesOf(told.message_bytes), isNumber: true },
          { title: "Outputs", of: ([, told]) => bytesOf(told.output_bytes), isNumber: true },
        ]}
        rows={Object.entries(storage.by_class)}
        keyOf={([name]) => name}
      />
      <h3>The largest sessions</h3>
      <Table
        caption="The largest sessions"
        columns={[
          {
            title: "Session",
            of: (session) => <Link to={addresses.session(session.session_id)}>{session.session_id}</Link>,
          },
          { title: "Messages", of: (session) => bytesOf(session.message_bytes), isNumber: true },
          { title: "Outputs", of: (session) => bytesOf(session.output_bytes), isNumber: true },
        ]}
        rows={storage.sessions.slice(0, LARGEST)}
        keyOf={(session) => session.session_id}
      />
    </>
  );
}
