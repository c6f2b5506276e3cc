/** What a chart draws: places along its axis, and a number for each series at each of them. */
export interface Place {
  readonly key: string;
  /** What stands at the axis; short. */
  readonly name: string;
  /** What is told when one points at it, and in the table. */
  readonly fullName: string;
  readonly values: Readonly<Record<string, number>>;
}

export interface Series {
  readonly id: string;
  readonly name: string;
  /** Which colour of the charts: 1 to 5. */
  readonly colour: 1 | 2 | 3 | 4 | 5;
}

const COLOURS = [1, 2, 3, 4, 5] as const;

/** The colour at a place in a row of series; a chart has five at most. */
export function colourAt(place: number): Series["colour"] {
  return COLOURS[place % COLOURS.length] ?? 1;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function numberOf(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 1_000 ? whole.format(value) : fine.format(value);
}

/** For the axis of a chart: 1.2K, 3.4M. */
export function shortOf(value: number): string {
  return short.format(value);
}

/** Milliseconds as they are told everywhere on these pages: 4.5 ms, 1.20 s. */
export function millisecondsOf(value: number | null): string {
  if (value === null) return "–";
  return value < 1_000 ? `${fine.format(value)} ms` : `${(value / 1_000).toFixed(2)} s`;
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const;

export function bytesOf(value: number): string {
  let [left, unit] = [value, 0];
  while (left >= 1_024 && unit < UNITS.length - 1) {
    left /= 1_024;
    unit += 1;
  }
  return `${unit === 0 ? whole.format(left) : fine.format(left)} ${UNITS[unit]}`;
}
