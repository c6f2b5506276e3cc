import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import css from "./chart.module.css";
import { type Place, type Series, shortOf } from "./series.ts";

export interface BarsProps {
  readonly places: readonly Place[];
  readonly series: readonly Series[];
  /** Lying bars are for names, which are long; standing ones for an order, such as time. */
  readonly isLying?: boolean;
  readonly tell: (value: number) => string;
  readonly onChosen?: (key: string) => void;
}

const TICK = { fill: "var(--text-soft)", fontSize: 12 } as const;
const AXIS = { tick: TICK, tickLine: false, axisLine: { stroke: "var(--line-strong)" } } as const;
const HEIGHT_PX = 240;
const ROW_PX = 34;
const NAMES_PX = 150;
const NAME_CHARS = 20;

/** Bars of one or more series, one upon the other. They stand still: what is renewed by itself should not dance. */
export default function Bars({ places, series, isLying = false, tell, onChosen }: BarsProps) {
  const height = isLying ? places.length * ROW_PX + 40 : HEIGHT_PX;
  const names = new Map(places.map((place) => [place.key, place]));
  const numbers = { ...AXIS, type: "number", allowDecimals: false, tickFormatter: shortOf } as const;
  const nameOf = (key: string) => cut(names.get(key)?.name ?? key);
  return (
    <ResponsiveContainer width="100%" height={height} initialDimension={{ width: 600, height }}>
      <BarChart
        data={[...places]}
        layout={isLying ? "vertical" : "horizontal"}
        accessibilityLayer={false}
        margin={{ top: 8, right: 12, bottom: 0, left: 0 }}
      >
        <CartesianGrid stroke="var(--line)" vertical={isLying} horizontal={!isLying} />
        {isLying ? (
          <XAxis {...numbers} />
        ) : (
          <XAxis {...AXIS} dataKey="key" tickFormatter={nameOf} minTickGap={12} interval="preserveStartEnd" />
        )}
        {isLying ? (
          <YAxis {...AXIS} type="category" dataKey="key" width={NAMES_PX} tickFormatter={nameOf} interval={0} />
        ) : (
          <YAxis {...numbers} width={44} />
        )}
        <Tooltip
          isAnimationActive={false}
          cursor={{ fill: "var(--sunken)" }}
          content={({ active, label }) => {
            const place = active ? names.get(String(label)) : undefined;
            return place === undefined ? null : <Told place={place} series={series} tell={tell} />;
          }}
        />
        {series.map(({ id, name, colour }) => (
          <Bar
            key={id}
            name={name}
            dataKey={(place: Place) => place.values[id] ?? 0}
            stackId="one"
            fill={`var(--chart-${colour})`}
            isAnimationActive={false}
            maxBarSize={isLying ? 20 : 48}
            {...(onChosen !== undefined && {
              cursor: "pointer",
              onClick: (_: unknown, index: number) => {
                const key = places[index]?.key;
                if (key !== undefined) onChosen(key);
              },
            })}
          />
        ))}
      </BarChart>
    </ResponsiveContainer>
  );
}

/** What is told at the place that one points at: only the series that have something there. */
function Told({ place, series, tell }: Pick<BarsProps, "series" | "tell"> & { readonly place: Place }) {
  const present = series.filter(({ id }) => (place.values[id] ?? 0) !== 0);
  return (
    <div className={css.told}>
      <strong>{place.fullName}</strong>
      {present.length === 0 && <span>nothing</span>}
      {present.map(({ id, name, colour }) => (
        <span key={id} className={css.toldLine}>
          <span className={`${css.swatch} ${css[`colour${colour}`]}`} />
          {name}: {tell(place.values[id] ?? 0)}
        </span>
      ))}
    </div>
  );
}

function cut(name: string): string {
  return name.length > NAME_CHARS ? `${name.slice(0, NAME_CHARS - 1)}…` : name;
}
