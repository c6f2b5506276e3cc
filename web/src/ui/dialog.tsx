import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { Button, IconButton } from "./button.tsx";
import css from "./dialog.module.css";
import { useToasts } from "./toasts.tsx";

interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClosed: () => void;
  readonly children: ReactNode;
  /** Wide ones hold tables and previews. */
  readonly isWide?: boolean;
}

/** The browser's own modal: it keeps the focus inside and gives it back, and Escape closes it. */
export function Dialog({ title, isOpen, onClosed, children, isWide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element === null || isOpen === element.open) return;
    if (isOpen) element.showModal();
    else element.close();
  }, [isOpen]);
  const { showIn } = useToasts();
  useEffect(() => {
    if (isOpen && dialog.current !== null) return showIn(dialog.current);
  }, [isOpen, showIn]);
  return (
    <dialog
      ref={dialog}
      className={`${css.dialog} ${isWide ? css.wide : ""}`}
      aria-labelledby={heading}
      onClose={onClosed}
    >
      {isOpen && (
        <div className="stack">
          <header className={css.head}>
            <h2 id={heading}>{title}</h2>
            <IconButton label="Close" onClick={() => dialog.current?.close()}>
              <X aria-hidden />
            </IconButton>
          </header>
          {children}
        </div>
      )}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly isOpen: boolean;
  /** What the button that goes ahead says: a verb. */
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly isBusy?: boolean;
  readonly onConfirmed: () => void;
  readonly onClosed: () => void;
  readonly children: ReactNode;
}

/** Asks before something that is not easily taken back; says what will be gone and what stays. */
export function Confirm({
  action,
  isDangerous = true,
  isBusy = false,
  onConfirmed,
  children,
  ...dialog
}: ConfirmProps) {
  return (
    <Dialog {...dialog}>
      <div className="stack">{children}</div>
      <div className={css.actions}>
        <Button onClick={dialog.onClosed}>Cancel</Button>
        <Button look={isDangerous ? "danger" : "primary"} isBusy={isBusy} onClick={onConfirmed}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
