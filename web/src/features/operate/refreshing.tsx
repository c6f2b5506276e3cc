import { notifyManager, useQueryClient } from "@tanstack/react-query";
import { Pause, Play, RefreshCw } from "lucide-react";
import { createContext, type ReactNode, useCallback, useContext, useState, useSyncExternalStore } from "react";
import { Button, IconButton } from "../../ui/button.tsx";
import css from "./refreshing.module.css";

/** Everything on these pages that is asked for again by itself begins with this. */
export const OPERATE = ["operate"] as const;

interface Refreshing {
  /** How often it is asked for again; false while that is paused. */
  readonly everyMs: number | false;
  readonly setPaused: (isPaused: boolean) => void;
}

const EVERY_MS = 5_000;
const Context = createContext<Refreshing>({ everyMs: false, setPaused: () => {} });

/** What is inside is renewed every few seconds, until somebody pauses it to look closer. */
export function Renewed({ children }: { readonly children: ReactNode }) {
  const [isPaused, setPaused] = useState(false);
  return <Context value={{ everyMs: isPaused ? false : EVERY_MS, setPaused }}>{children}</Context>;
}

export function useEveryMs(): number | false {
  return useContext(Context).everyMs;
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** Of when the numbers are, and the means to hold them still. */
export function RefreshBar() {
  const { everyMs, setPaused } = useContext(Context);
  const queries = useQueryClient();
  const { asOf, isFailing } = useAsOf();
  const isPaused = everyMs === false;
  const renew = () => void queries.refetchQueries({ queryKey: OPERATE, type: "active" });
  const toggle = () => {
    setPaused(!isPaused);
    if (isPaused) renew();
  };
  return (
    <div className={css.bar}>
      <span className="soft">
        {asOf === 0 ? "not yet read" : `as of ${clock.format(asOf)}`}
        {isPaused && ", paused"}
        {isFailing && <span className={css.failing}>, could not be renewed</span>}
      </span>
      <IconButton label="Refresh now" onClick={renew}>
        <RefreshCw aria-hidden />
      </IconButton>
      <Button onClick={toggle}>
        {isPaused ? <Play aria-hidden size={16} /> : <Pause aria-hidden size={16} />}
        {isPaused ? "Go on" : "Pause"}
      </Button>
    </div>
  );
}

/** When the oldest of what is on the page was read, and whether reading it again has failed. */
export function useAsOf(): { readonly asOf: number; readonly isFailing: boolean } {
  const queries = useQueryClient();
  const subscribe = useCallback(
    (listener: () => void) => queries.getQueryCache().subscribe(notifyManager.batchCalls(listener)),
    [queries],
  );
  const seen = () => queries.getQueryCache().findAll({ queryKey: OPERATE, type: "active" });
  const asOf = useSyncExternalStore(subscribe, () => {
    const read = seen().filter((query) => query.state.dataUpdatedAt > 0);
    return read.length === 0 ? 0 : Math.min(...read.map((query) => query.state.dataUpdatedAt));
  });
  const isFailing = useSyncExternalStore(subscribe, () =>
    seen().some((query) => query.state.dataUpdatedAt > 0 && query.state.errorUpdatedAt > query.state.dataUpdatedAt),
  );
  return { asOf, isFailing };
}
