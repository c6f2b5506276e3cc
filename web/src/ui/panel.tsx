import { type ReactNode, useId } from "react";
import css from "./panel.module.css";
import { usePageTitle } from "./title.ts";

interface PanelProps {
  readonly title: string;
  /** What stands at the right of the title: buttons, a status. */
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}

/** A titled part of a page. */
export function Panel({ title, aside, children }: PanelProps) {
  const heading = useId();
  return (
    <section className={css.panel} aria-labelledby={heading}>
      <header className={css.head}>
        <h2 id={heading}>{title}</h2>
        {aside !== undefined && <div className="row">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

interface PageProps extends PanelProps {
  /** A way to look at something whose name stands above already. */
  readonly isTab?: boolean;
}

/** The frame of a page: its title, what can be done on it, and its parts. It scrolls by itself. */
export function Page({ isTab = false, ...frame }: PageProps) {
  return isTab ? <Frame heading="h2" {...frame} /> : <NamedPage {...frame} />;
}

function NamedPage(frame: PanelProps) {
  usePageTitle(frame.title);
  return <Frame heading="h1" {...frame} />;
}

function Frame({ heading: Heading, title, aside, children }: PanelProps & { readonly heading: "h1" | "h2" }) {
  return (
    <div className={css.page}>
      <div className={css.inner}>
        <header className={css.head}>
          <Heading className={css.title}>{title}</Heading>
          {aside !== undefined && <div className="row">{aside}</div>}
        </header>
        {children}
      </div>
    </div>
  );
}

/** A name and what it stands for, one below the other on a phone. */
export function Facts({ of }: { readonly of: ReadonlyArray<readonly [string, ReactNode]> }) {
  return (
    <dl className={css.facts}>
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
