import { useVirtualizer } from "@tanstack/react-virtual";
import { GitFork } from "lucide-react";
import { memo, useEffect, useRef } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { SessionOut } from "../../api/schema.gen.ts";
import { Status } from "../../ui/badge.tsx";
import { Countdown, When } from "../../ui/time.tsx";
import css from "./session-list.module.css";

interface SessionListProps {
  readonly sessions: readonly SessionOut[];
  readonly hasMore: boolean;
  readonly isBusy: boolean;
  readonly onEndReached: () => void;
}

const ROW_PX = 72;
const AHEAD = 20;

/** As many rows as fit on the screen, whatever the number of sessions. */
export function SessionList({ sessions, hasMore, isBusy, onEndReached }: SessionListProps) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: sessions.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
  });
  const shown = rows.getVirtualItems();
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !isBusy && lastShown >= sessions.length - AHEAD) onEndReached();
  }, [hasMore, isBusy, lastShown, sessions.length, onEndReached]);
  return (
    <div ref={box} className={css.box}>
      <p className="unseen" role="status">
        {sessions.length} sessions shown{hasMore ? ", more further down" : ""}
      </p>
      <ul className={css.list} aria-label="Sessions" style={{ height: rows.getTotalSize() }}>
        {shown.map((row) => {
          const session = sessions[row.index];
          return session === undefined ? null : (
            <li key={row.key} className={css.row} style={{ height: row.size, transform: `translateY(${row.start}px)` }}>
              <SessionRow session={session} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

export const SessionRow = memo(function SessionRow({ session }: { readonly session: SessionOut }) {
  return (
    <Link to={addresses.comeBack(session.id)} className={css.link}>
      <span className={css.what}>
        <span className={`one-line ${css.title}`}>{session.title ?? session.opening ?? "Nothing said yet"}</span>
        <span className={`one-line soft ${css.small}`}>
          {session.title !== null && session.opening !== null ? session.opening : `${session.agent} · ${session.owner}`}
        </span>
      </span>
      <span className={css.how}>
        {session.fork_of !== null && <GitFork aria-label="A fork" className={css.fork} />}
        <Status of={session.status} />
        <span className={`soft ${css.small}`}>{session.turns === 1 ? "1 turn" : `${session.turns} turns`}</span>
      </span>
      <span className={`soft ${css.when}`}>
        <When at={session.last_active_at} />
        {session.status === "active" && (
          <span className={css.small}>
            expires in <Countdown until={session.expires_at} />
          </span>
        )}
      </span>
    </Link>
  );
});
