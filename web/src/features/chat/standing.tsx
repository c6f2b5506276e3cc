import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { SessionOut } from "../../api/schema.gen.ts";
import { refreshSession } from "../../api/sessions.ts";
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

/** Says what stands in the way of talking here; what can be done about it stands in the head of the session. */
export function Standing({ session, isCut }: { readonly session: SessionOut; readonly isCut: boolean }) {
  return (
    <div aria-live="polite">
      {isCut && <p className={css.cut}>Reconnecting … What you send meanwhile is kept and sent once.</p>}
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
    </div>
  );
}
