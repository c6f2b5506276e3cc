import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { Status } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { When } from "../../ui/time.tsx";
import type { RunLine } from "./run-line.ts";
import css from "./why.module.css";

interface RunListProps {
  readonly runs: readonly RunLine[];
  readonly chosen: string | undefined;
  readonly onMoreWanted: (() => void) | undefined;
}

/** The runs of a session, newest first, failed ones too. */
export function RunList({ runs, chosen, onMoreWanted }: RunListProps) {
  return (
    <nav aria-label="Runs" className={css.runs}>
      <ol className={css.runList}>
        {runs.map((run) => (
          <li key={run.run_id}>
            <Link
              to={addresses.why(run.session_id, run.run_id)}
              className={`${css.run} ${run.run_id === chosen ? css.here : ""}`}
              aria-current={run.run_id === chosen ? "page" : undefined}
            >
              <span className="row">
                <Status of={run.status} />
                <span className={css.small}>{run.turn === null ? "no turn" : `turn ${run.turn}`}</span>
                <span className={`${css.small} ${css.right}`}>
                  <When at={run.at} />
                </span>
              </span>
              <span className={css.asked}>{run.asked === "" ? run.preview : run.asked}</span>
            </Link>
          </li>
        ))}
      </ol>
      {onMoreWanted !== undefined && <Button onClick={onMoreWanted}>Show older runs</Button>}
    </nav>
  );
}
