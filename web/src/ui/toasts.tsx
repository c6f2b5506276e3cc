import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { Problem } from "../api/client.ts";
import css from "./toasts.module.css";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
}

interface Telling {
  readonly tell: (text: string) => void;
  /** For the `onError` of a change that has no better place to say why it failed. */
  readonly complain: (problem: unknown) => void;
}

const Context = createContext<Telling>({ tell: () => {}, complain: () => {} });
const SHOWN_MS = 6_000;
let lastId = 0;

/** Short words at the edge of the screen about what was just done; read out by screen readers. */
export function Toasts({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const show = useCallback((text: string, isBad: boolean) => {
    lastId += 1;
    const id = lastId;
    setToasts((shown) => [...shown.slice(-3), { id, text, isBad }]);
    setTimeout(() => setToasts((shown) => shown.filter((toast) => toast.id !== id)), SHOWN_MS);
  }, []);
  const telling = useMemo<Telling>(
    () => ({
      tell: (text) => show(text, false),
      complain: (problem) =>
        show(problem instanceof Problem || problem instanceof Error ? problem.message : String(problem), true),
    }),
    [show],
  );
  return (
    <Context value={telling}>
      {children}
      <div className={css.toasts} role="status" aria-live="polite">
        {toasts.map((toast) => (
          <div key={toast.id} className={toast.isBad ? css.bad : css.toast}>
            {toast.text}
          </div>
        ))}
      </div>
    </Context>
  );
}

export function useToasts(): Telling {
  return useContext(Context);
}
