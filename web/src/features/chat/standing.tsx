import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useNavigate } from "react-router";
import { addresses } from "../../addresses.ts";
import { answered, api } from "../../api/client.ts";
import type { SessionOut } from "../../api/schema.gen.ts";
import { keepSession, refreshSession } from "../../api/sessions.ts";
import { Button } from "../../ui/button.tsx";
import { useToasts } from "../../ui/toasts.tsx";
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

/** Says what stands in the way of talking here, and what can be done about it. */
export function Standing({ session, isCut }: { readonly session: SessionOut; readonly isCut: boolean }) {
  return (
    <div aria-live="polite">
      {isCut && <div className={css.cut}>Reconnecting … What you send meanwhile is kept and sent once.</div>}
      {session.status === "paused" && <Paused session={session} />}
      {(session.status === "closed" || session.status === "expired") && <Over session={session} />}
    </div>
  );
}

function Paused({ session }: { readonly session: SessionOut }) {
  const queries = useQueryClient();
  const { complain } = useToasts();
  const resuming = useMutation({
    mutationFn: () =>
      answered(api.POST("/api/v1/sessions/{session_id}/resume", { params: { path: { session_id: session.id } } })),
    onSuccess: (changed) => keepSession(queries, changed),
    onError: complain,
  });
  return (
    <div className={css.note}>
      <span>This session is paused{session.pause_reason === null ? "" : `: ${session.pause_reason}`}.</span>
      <Button isBusy={resuming.isPending} onClick={() => resuming.mutate()}>
        Resume it
      </Button>
    </div>
  );
}

function Over({ session }: { readonly session: SessionOut }) {
  const navigate = useNavigate();
  const { complain } = useToasts();
  const goingOn = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/sessions", { body: { from_session_id: session.id } })),
    onSuccess: (made) => navigate(addresses.session(made.id)),
    onError: complain,
  });
  const why =
    session.status === "expired"
      ? "This session has expired: nothing was said for too long."
      : `This session is closed${session.closed_reason === null ? "" : `: ${session.closed_reason}`}.`;
  return (
    <div className={css.note}>
      <span>{why} It can be read, but takes no more messages.</span>
      <Button look="primary" isBusy={goingOn.isPending} onClick={() => goingOn.mutate()}>
        Continue in a new session
      </Button>
    </div>
  );
}
