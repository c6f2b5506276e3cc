import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { may, useMe } from "../../api/me.ts";
import type { SessionOut } from "../../api/schema.gen.ts";
import { refreshSession } from "../../api/sessions.ts";
import { Copy } from "../../ui/copy.tsx";
import type { LiveLine } from "./queries.ts";
import css from "./standing.module.css";

const LONGEST_TIMER_MS = 2_000_000_000;
const GRACE_MS = 250;

/** Looks at the session again when its time is over, so that the page turns read-only by itself. */
export function useExpiry({ id, status, expires_at }: SessionOut): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (status !== "active" && status !== "paused") return;
    const left = Math.max(0, Date.parse(expires_at) - Date.now()) + GRACE_MS;
    const timer = setTimeout(() => void refreshSession(queries, id), Math.min(left, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  }, [queries, id, status, expires_at]);
}

/** For those whose role reads and does not write. */
export function MayOnlyRead() {
  const { data: who } = useMe();
  return (
    <p className={css.over}>
      You may read here, but not write: you are {who?.role ?? "not known"}. Ask whoever gave you your access for the
      right <code>sessions:write</code>.
    </p>
  );
}

/** What was refused because the session is over: nothing else would keep it. */
export function Unsent({ text }: { readonly text: string }) {
  return (
    <div role="alert" className={css.over}>
      <p>
        This was not sent any more. Take it along: <Copy text={text} label="Copy what was not sent" />
      </p>
      <blockquote dir="auto" className={css.unsent}>
        {text}
      </blockquote>
    </div>
  );
}

interface StandingProps {
  readonly session: SessionOut;
  readonly line: LiveLine;
}

/** Says what stands in the way of talking here; what can be done about it stands in the head of the session. */
export function Standing({ session, line }: StandingProps) {
  const { data: who } = useMe();
  const isOver = session.status === "closed" || session.status === "expired";
  return (
    <div aria-live="polite">
      {line.isCut && <p className={css.cut}>Reconnecting … What you send meanwhile is kept and sent once.</p>}
      {line.refused !== null && (
        <p className={css.cut}>
          What is new is not shown by itself any more: {line.refused.message} Reload to try again.
        </p>
      )}
      {session.status === "expired" && (
        <p className={css.over}>
          This session has expired: nothing was said for too long. It can be read, but takes no more messages; continue
          in a new session to go on from here.
        </p>
      )}
      {session.status === "closed" && (
        <p className={css.over}>
          This session is closed{session.closed_reason === null ? "" : `: ${session.closed_reason}`}. It can be read,
          but takes no more messages; continue in a new session to go on from here.
        </p>
      )}
      {!isOver && !may(who, "sessions:write") && <MayOnlyRead />}
    </div>
  );
}
