import type { ComponentProps, ReactNode } from "react";
import css from "./button.module.css";

type Look = "plain" | "primary" | "quiet" | "danger";

interface ButtonProps extends ComponentProps<"button"> {
  readonly look?: Look;
  readonly isBusy?: boolean;
}

/** While `isBusy` it can be reached and read, but not pressed. */
export function Button({ look = "plain", isBusy = false, className = "", children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`${css.button} ${css[look] ?? ""} ${className}`}
      aria-busy={isBusy || undefined}
      aria-disabled={isBusy || undefined}
      onClick={isBusy ? (event) => event.preventDefault() : onClick}
    >
      {children}
    </button>
  );
}

interface IconButtonProps extends ButtonProps {
  /** What it does, for those who do not see the icon, and on hover. */
  readonly label: string;
  readonly children: ReactNode;
}

export function IconButton({ label, look = "quiet", className = "", ...rest }: IconButtonProps) {
  return <Button {...rest} look={look} className={`${css.icon} ${className}`} aria-label={label} title={label} />;
}
