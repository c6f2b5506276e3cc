import type { ReactNode } from "react";
import css from "./operate.module.css";

export interface Figure {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
}

/** A few numbers that are read first. */
export function Figures({ of }: { readonly of: readonly Figure[] }) {
  return (
    <dl className={css.figures}>
      {of.map(({ name, value, note }) => (
        <div key={name} className={css.figure}>
          <dt>{name}</dt>
          <dd className={css.value}>{value}</dd>
          {note !== undefined && <dd className={css.note}>{note}</dd>}
        </div>
      ))}
    </dl>
  );
}
