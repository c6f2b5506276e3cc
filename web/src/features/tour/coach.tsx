import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Compass, X } from "lucide-react";
import { useEffect, useState } from "react";
import { Navigate, useLocation, useNavigate } from "react-router";
import { addresses } from "../../addresses.ts";
import { answered, api } from "../../api/client.ts";
import { may, useMe } from "../../api/me.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import css from "./coach.module.css";
import { DEMO_AGENT, DEMO_PACK, type Made, STEPS } from "./steps.ts";

const DISMISSED = "turnkeeper.tour.dismissed";
const PROGRESS = "turnkeeper.tour.progress";

interface Progress {
  readonly step: number;
  readonly made: Made;
}

/** Goes with a newcomer from page to page; an empty install begins with it, whoever may write may ask for it. */
export function Coach() {
  const { pathname } = useLocation();
  const mayWrite = may(useMe().data, "sessions:write");
  if (mayWrite) return <Guide />;
  return pathname === addresses.tour ? <Navigate to={addresses.home} replace /> : null;
}

function Guide() {
  const [progress, setProgress] = useState<Progress | null>(keptProgress);
  const { pathname } = useLocation();
  const go = useNavigate();
  const isEmpty = useIsEmpty();
  const isAskedFor = pathname === addresses.tour;
  useEffect(() => {
    if (isAskedFor) void go(addresses.home, { replace: true });
    if (isAskedFor || (isEmpty && pathname === addresses.home && localStorage.getItem(DISMISSED) === null)) {
      setProgress((now) => (now === null || isAskedFor ? { step: 0, made: {} } : now));
    }
  }, [isAskedFor, isEmpty, pathname, go]);
  useEffect(() => keepProgress(progress), [progress]);
  if (progress === null) return null;
  const dismiss = () => {
    localStorage.setItem(DISMISSED, "yes");
    setProgress(null);
  };
  return <Card key={progress.step} progress={progress} onStepped={setProgress} onDismissed={dismiss} />;
}

interface CardProps {
  readonly progress: Progress;
  readonly onStepped: (next: Progress) => void;
  readonly onDismissed: () => void;
}

function Card({ progress: { step, made }, onStepped, onDismissed }: CardProps) {
  const go = useNavigate();
  const queries = useQueryClient();
  const now = STEPS[step];
  const isLacking = useIsLacking(now?.needs);
  const acting = useMutation({
    mutationFn: () => (now === undefined ? Promise.reject(new Error("The tour is over.")) : now.act(made)),
    onSuccess: async (done) => {
      await go(done.goTo);
      onStepped({ step: step + 1, made: done.made });
      void queries.invalidateQueries({ queryKey: ["sessions"] });
    },
  });
  return (
    <aside className={css.coach} aria-label="Tour">
      <Compass aria-hidden className={css.sign} />
      <div className={css.text} aria-live="polite">
        <h2>{now?.title ?? "That was it"}</h2>
        <p>
          {now?.says ??
            "Read on this page what failed and what to do next. Then begin a conversation of your own, or bring your own agent."}
        </p>
        {isLacking && (
          <p className={css.lacking}>
            This step needs the demo. Start the server with <code>turnkeeper serve --demo</code>, or go on.
          </p>
        )}
        {acting.error !== null && <ProblemNotice problem={acting.error} onRetried={() => acting.mutate()} />}
      </div>
      <div className={css.deeds}>
        {now !== undefined && !isLacking && (
          <Button look="primary" isBusy={acting.isPending} onClick={() => acting.mutate()}>
            {now.deed}
          </Button>
        )}
        {now === undefined && (
          <Button look="primary" onClick={onDismissed}>
            Finish
          </Button>
        )}
        {isLacking && <Button onClick={() => onStepped({ step: step + 1, made })}>Skip this step</Button>}
        <span className={`soft ${css.count}`}>
          {Math.min(step + 1, STEPS.length)} of {STEPS.length}
        </span>
      </div>
      <IconButton label="Dismiss the tour" className={css.close ?? ""} onClick={onDismissed}>
        <X aria-hidden />
      </IconButton>
    </aside>
  );
}

function useIsEmpty(): boolean {
  const count = useQuery({
    queryKey: ["sessions", "is-empty"],
    queryFn: () => answered(api.GET("/api/v1/sessions", { params: { query: { limit: 1 } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return count.data?.total === 0;
}

/** Whether what a step needs is known to be absent. */
function useIsLacking(needs: "agent" | "pack" | undefined): boolean {
  const agents = useQuery({
    queryKey: ["agents"],
    queryFn: () => answered(api.GET("/api/v1/agents")),
    enabled: needs === "agent",
  });
  const packs = useQuery({
    queryKey: ["packs"],
    queryFn: () => answered(api.GET("/api/v1/packs")),
    enabled: needs === "pack",
  });
  if (needs === "agent") return agents.data?.items.every(({ id }) => id !== DEMO_AGENT) ?? false;
  if (needs === "pack") return packs.data?.items.every(({ id }) => id !== DEMO_PACK) ?? false;
  return false;
}

function keptProgress(): Progress | null {
  const kept = sessionStorage.getItem(PROGRESS);
  return kept === null ? null : (JSON.parse(kept) as Progress);
}

function keepProgress(progress: Progress | null): void {
  if (progress === null) sessionStorage.removeItem(PROGRESS);
  else sessionStorage.setItem(PROGRESS, JSON.stringify(progress));
}
