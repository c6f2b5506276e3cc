import { X } from "lucide-react";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { createPortal } from "react-dom";
import { IconButton } from "./button.tsx";
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
  /** What covers the page and makes it unreachable shows the toasts until the function it is given is called. */
  readonly showIn: (cover: HTMLElement) => () => void;
}

const Context = createContext<Telling>({ tell: () => {}, complain: () => {}, showIn: () => () => {} });
const SHOWN_MS = 6_000;
const BAD_SHOWN_MS = 15_000;
const MOST_SHOWN = 4;
let lastId = 0;

/** Short words at the edge of the screen about what was just done; read out by screen readers. */
export function Toasts({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const [covers, setCovers] = useState<readonly HTMLElement[]>([]);
  const close = useCallback((id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id)), []);
  const show = useCallback(
    (text: string, isBad: boolean) => {
      lastId += 1;
      const id = lastId;
      setToasts((shown) => [...shown.slice(1 - MOST_SHOWN), { id, text, isBad }]);
      setTimeout(() => close(id), isBad ? BAD_SHOWN_MS : SHOWN_MS);
    },
    [close],
  );
  const telling = useMemo<Telling>(
    () => ({
      tell: (text) => show(text, false),
      complain: (problem) => show(problem instanceof Error ? problem.message : String(problem), true),
      showIn: (cover) => {
        setCovers((before) => [...before, cover]);
        return () => setCovers((before) => before.filter((each) => each !== cover));
      },
    }),
    [show],
  );
  return (
    <Context value={telling}>
      {children}
      {createPortal(
        <div className={css.toasts}>
          {toasts.map((toast) => toast.isBad && <Shown key={toast.id} toast={toast} onClosed={close} />)}
          <div className={css.good} role="status">
            {toasts.map((toast) => !toast.isBad && <Shown key={toast.id} toast={toast} onClosed={close} />)}
          </div>
        </div>,
        covers.at(-1) ?? document.body,
      )}
    </Context>
  );
}

function Shown({ toast, onClosed }: { readonly toast: Toast; readonly onClosed: (id: number) => void }) {
  return (
    <div className={toast.isBad ? css.bad : css.toast} role={toast.isBad ? "alert" : undefined}>
      <span className="grow">{toast.text}</span>
      <IconButton label="Close this message" className={css.close ?? ""} onClick={() => onClosed(toast.id)}>
        <X aria-hidden />
      </IconButton>
    </div>
  );
}

export function useToasts(): Telling {
  return useContext(Context);
}
