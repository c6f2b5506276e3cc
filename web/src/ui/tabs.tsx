import { useEffect, useRef } from "react";
import { Link } from "react-router";
import css from "./tabs.module.css";

export interface Tab {
  readonly to: string;
  readonly name: string;
  readonly isHere: boolean;
}

/** Ways to look at one page; each is a link, so that it can be shared. On a phone the row scrolls to the one that is open. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const here = useRef<HTMLAnchorElement>(null);
  const open = tabs.find(({ isHere }) => isHere)?.to;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is looked for again when another one is open.
  useEffect(() => {
    void here.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [open]);
  return (
    <nav aria-label={label} className={css.tabs}>
      {tabs.map(({ to, name, isHere }) => (
        <Link
          key={name}
          ref={isHere ? here : undefined}
          to={to}
          className={`${css.tab} ${isHere ? css.here : ""}`}
          aria-current={isHere ? "page" : undefined}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}
