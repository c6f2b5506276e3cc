import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { ExplanationOut, RunOut } from "../../api/schema.gen.ts";
import { useSession } from "../../api/sessions.ts";
import { Badge, Status } from "../../ui/badge.tsx";
import { Json } from "../../ui/json.tsx";
import { Facts, Panel } from "../../ui/panel.tsx";
import { When } from "../../ui/time.tsx";
import { denialsOf, type Meter, metersOf, unitFactsOf, usedUnitsOf } from "./facts.ts";
import { useCheckpoints, useEffects } from "./queries.ts";
import css from "./why.module.css";

/** What the run knew, learned and lost. */
export function UnitsPanel({ told }: { readonly told: ExplanationOut }) {
  const units = unitFactsOf(told);
  const used = usedUnitsOf(told);
  const link = (id: string) => <Link to={addresses.unit(told.session_id, id)}>{id}</Link>;
  const lists: ReadonlyArray<readonly [string, readonly React.ReactNode[]]> = [
    [
      "Used for the answer",
      used.map((unit) => (
        <>
          {unit.content}{" "}
          <span className="soft">
            ({unit.source}) {link(unit.id)}
          </span>
        </>
      )),
    ],
    ["Learned", units.added.map(link)],
    [
      "Replaced",
      units.superseded.map(({ unit, by }) => (
        <>
          {link(unit)} by {link(by)}
        </>
      )),
    ],
    ["Forgotten", units.forgotten.map(link)],
    ["Gave way, as there were too many", units.pushedOut.map(link)],
    [
      "Not kept",
      units.dropped.map(({ content, reason }) => (
        <>
          {content} <Badge>{reason.replaceAll("_", " ")}</Badge>
        </>
      )),
    ],
  ];
  const shown = lists.filter(([, items]) => items.length > 0);
  return (
    <Panel title="Units">
      {shown.length === 0 && <p className="soft">This run used no units and made none.</p>}
      {shown.map(([title, items]) => (
        <section key={title}>
          <h3>{title}</h3>
          <ul className={css.units}>
            {items.map((item, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes its order.
              <li key={at}>{item}</li>
            ))}
          </ul>
        </section>
      ))}
    </Panel>
  );
}

/** What was spent, against what may be. */
export function BudgetPanel({ told, run }: { readonly told: ExplanationOut; readonly run: RunOut | undefined }) {
  const session = useSession(told.session_id);
  const meters = metersOf(told, run, session.data?.limits ?? {});
  return (
    <Panel title="Budget">
      {meters.length === 0 ? (
        <p className="soft">Nothing was spent, and nothing is limited.</p>
      ) : (
        <ul className={css.meters}>
          {meters.map((meter) => (
            <MeterRow key={meter.name} meter={meter} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

const NEARLY = 0.8;

function MeterRow({ meter: { name, spent, most, unit } }: { readonly meter: Meter }) {
  const shown = Number.isInteger(spent) ? spent : spent.toFixed(unit === "s" ? 3 : 2);
  const counted = spent === 1 && most === undefined ? unit.replace(/(.)s$/, "$1") : unit;
  const words = most === undefined ? `${shown} ${counted}, no limit` : `${shown} of ${most} ${unit}`;
  return (
    <li>
      <span className={css.meterName}>{name}</span>
      {most !== undefined && (
        <meter aria-label={name} min={0} max={most} high={most * NEARLY} optimum={0} value={spent} />
      )}
      <span className={css.small}>{words}</span>
    </li>
  );
}

/** Plugins, model and level that really ran; what was warned of and denied. */
export function RanPanel({ told, run }: { readonly told: ExplanationOut; readonly run: RunOut | undefined }) {
  const denials = denialsOf(told);
  const others = told.warnings.filter((code) => !denials.some((denial) => code.endsWith(denial.code)));
  return (
    <Panel title="What really ran">
      <Facts
        of={[
          ["Agent", run?.agent ?? "…"],
          ["Model", told.model ?? "none"],
          ["Level", told.level ?? "not said"],
          ["Outcome", told.answer_status ?? "not said"],
          ...Object.entries(told.plugins).map(([kind, plugin]) => [kind, plugin] as const),
        ]}
      />
      {denials.length > 0 && (
        <section>
          <h3>Denied</h3>
          <ul className={css.units}>
            {denials.map((denial) => (
              <li key={denial.code}>
                <Badge tone="bad">{denial.code.replaceAll("_", " ")}</Badge> {denial.about}
              </li>
            ))}
          </ul>
        </section>
      )}
      {others.length > 0 && (
        <section>
          <h3>Warnings</h3>
          <ul className={css.units}>
            {others.map((code) => (
              <li key={code}>
                <Badge tone="warn">{code.replaceAll("_", " ")}</Badge>
                {told.details[code] !== undefined && <code> {JSON.stringify(told.details[code])}</code>}
              </li>
            ))}
          </ul>
        </section>
      )}
    </Panel>
  );
}

/** What the run did to the world, and where it stood when it waited; nothing is shown where there is neither. */
export function DonePanel({ told }: { readonly told: ExplanationOut }) {
  const effects = useEffects(told.session_id, told.run_id).data?.items ?? [];
  const checkpoints = useCheckpoints(told.session_id, told.run_id).data?.items ?? [];
  return (
    <>
      {effects.length > 0 && (
        <Panel title="Effects">
          <p className="soft">What the run did outside. It stays done, whatever became of the turn.</p>
          <ul className={css.units}>
            {effects.map((effect) => (
              <li key={effect.key}>
                <span className="row">
                  <code>{effect.key}</code> <Status of={effect.status} /> <When at={effect.started_at} />
                </span>
                {effect.result !== null && <Json value={effect.result} />}
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {checkpoints.length > 0 && (
        <Panel title="Checkpoints">
          <p className="soft">Where the run stood when it stopped to wait or to save itself.</p>
          <ul className={css.units}>
            {checkpoints.map((checkpoint) => (
              <li key={checkpoint.checkpoint_id}>
                <details>
                  <summary>
                    {checkpoint.seq}. <When at={checkpoint.created_at} />
                    {checkpoint.verdict !== null && ` · ${checkpoint.verdict.phase}: ${checkpoint.verdict.value}`}
                    {checkpoint.pending !== null && " · waits"}
                  </summary>
                  <Json value={checkpoint} />
                </details>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

/** Everything as it came, for those who want to be sure. */
export function RawPanel({ told }: { readonly told: ExplanationOut }) {
  const { document, details, stages } = told;
  const parts: ReadonlyArray<readonly [string, unknown]> = [
    ["Response document", document],
    ["Details of warnings", Object.keys(details).length > 0 ? details : null],
    ["Stages", stages],
    ["Error", told.error],
  ];
  return (
    <Panel title="As data">
      {parts
        .filter(([, value]) => value !== null)
        .map(([title, value]) => (
          <details key={title}>
            <summary>{title}</summary>
            <Json value={value} />
          </details>
        ))}
    </Panel>
  );
}
