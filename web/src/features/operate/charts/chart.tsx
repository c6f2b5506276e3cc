import { ChartColumn, Sheet } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { IconButton } from "../../../ui/button.tsx";
import { Loading } from "../../../ui/notice.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { Table } from "../../../ui/table.tsx";
import type { BarsProps } from "./bars.tsx";
import css from "./chart.module.css";
import { numberOf } from "./series.ts";

// The charting library is large: it comes when there is something to draw.
const Bars = lazy(() => import("./bars.tsx"));

interface ChartProps extends Omit<BarsProps, "tell"> {
  /** What the chart answers. */
  readonly question: string;
  /** The answer in words, for those who do not see it, and for those who want no more. */
  readonly answer: string;
  /** What is along the axis: the title of the first column of the table. */
  readonly along: string;
  readonly tell?: (value: number) => string;
}

/** A question, its answer in words, and the numbers behind it as bars or as a table. */
export function Chart({ question, answer, along, tell = numberOf, ...bars }: ChartProps) {
  const [isTable, setTable] = useState(false);
  const { places, series } = bars;
  const hasSomething = places.some((place) => series.some(({ id }) => (place.values[id] ?? 0) !== 0));
  return (
    <Panel
      title={question}
      aside={
        hasSomething && (
          <IconButton label={isTable ? "As a chart" : "As a table"} onClick={() => setTable(!isTable)}>
            {isTable ? <ChartColumn aria-hidden /> : <Sheet aria-hidden />}
          </IconButton>
        )
      }
    >
      <p className={css.answer}>{answer}</p>
      {hasSomething && isTable && (
        <div className={css.scroll}>
          <Table
            caption={question}
            columns={[
              { title: along, of: (place) => place.fullName },
              ...series.map(({ id, name }) => ({
                title: name,
                of: (place: (typeof places)[number]) => tell(place.values[id] ?? 0),
                isNumber: true,
              })),
            ]}
            rows={places}
            keyOf={(place) => place.key}
          />
        </div>
      )}
      {hasSomething && !isTable && (
        <>
          {series.length > 1 && <Legend series={series} />}
          <div role="img" aria-label={`${question} ${answer}`} className={css.drawing}>
            <Suspense fallback={<Loading what="Drawing" />}>
              <Bars {...bars} tell={tell} />
            </Suspense>
          </div>
        </>
      )}
    </Panel>
  );
}

function Legend({ series }: Pick<BarsProps, "series">) {
  return (
    <ul className={css.legend} aria-label="Colours">
      {series.map(({ id, name, colour }) => (
        <li key={id}>
          <span className={`${css.swatch} ${css[`colour${colour}`]}`} aria-hidden />
          {name}
        </li>
      ))}
    </ul>
  );
}
