import { Link } from "react-router";
import css from "./tabs.module.css";

export interface Tab {
  readonly to: string;
  readonly name: string;
  readonly isHere: boolean;
}

/** Ways to look at one page; each is a link, so that it can be shared. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  return (
    <nav aria-label={label} className={css.tabs}>
      {tabs.map(({ to, name, isHere }) => (
        <Link
          key={name}
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
