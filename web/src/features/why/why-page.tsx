import { ArrowLeft } from "lucide-react";
import { Link, useParams } from "react-router";
import { addresses } from "../../addresses.ts";
import { useIsNarrow } from "../../ui/media.ts";
import { Asked, Empty, Loading } from "../../ui/notice.tsx";
import { useNewestRuns, useRuns } from "./queries.ts";
import { linesOf } from "./run-line.ts";
import { RunList } from "./run-list.tsx";
import { RunView } from "./run-view.tsx";
import css from "./why.module.css";

/** The runs of a session and the Explanation of one of them; on a phone one after the other. */
export function WhyPage() {
  const { sessionId = "", runId } = useParams();
  const isNarrow = useIsNarrow();
  const runs = useRuns(sessionId);
  const newest = useNewestRuns(sessionId);
  return (
    <Asked query={runs} what="Reading what happened">
      {(found) => {
        const all = linesOf(
          newest.data?.items ?? [],
          found.pages.flatMap((page) => page.items),
        );
        const chosen = runId ?? (isNarrow ? undefined : all[0]?.run_id);
        if (newest.isPending) return <Loading what="Reading what happened" />;
        if (all.length === 0 && runId === undefined)
          return (
            <Empty title="Nothing has happened here yet">
              Every message leaves a record of what was done with it and why, also when it fails.{" "}
              <Link to={addresses.session(sessionId)}>Say something in the chat.</Link>
            </Empty>
          );
        return (
          <div className={css.page}>
            {(!isNarrow || chosen === undefined) && (
              <RunList
                runs={all}
                chosen={chosen}
                onMoreWanted={runs.hasNextPage ? () => void runs.fetchNextPage() : undefined}
              />
            )}
            {chosen !== undefined && (
              <div className={css.chosen}>
                {isNarrow && (
                  <Link to={addresses.why(sessionId)} className={css.back}>
                    <ArrowLeft aria-hidden /> All runs
                  </Link>
                )}
                <RunView key={chosen} sessionId={sessionId} runId={chosen} runs={all} />
              </div>
            )}
          </div>
        );
      }}
    </Asked>
  );
}
