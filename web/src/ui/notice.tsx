import { CircleAlert, Inbox, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { Problem } from "../api/client.ts";
import { Button } from "./button.tsx";
import css from "./notice.module.css";

/** What went wrong, in the server's words, and what can be done now. */
export function ProblemNotice({ problem, onRetried }: { readonly problem: unknown; readonly onRetried?: () => void }) {
  const told = problem instanceof Problem ? problem : undefined;
  const text = told?.message ?? (problem instanceof Error ? problem.message : "Something went wrong on this page.");
  return (
    <div role="alert" className={css.problem}>
      <CircleAlert aria-hidden />
      <div className="grow">
        <p>{text}</p>
        {told !== undefined && (
          <p className={css.small}>
            <code>{told.code}</code>
            {told.requestId !== undefined && <> · request {told.requestId}</>}
          </p>
        )}
      </div>
      {onRetried !== undefined && <Button onClick={onRetried}>Try again</Button>}
    </div>
  );
}

export function Loading({ what = "Loading" }: { readonly what?: string }) {
  return (
    <div role="status" className={css.loading} data-loading>
      <LoaderCircle aria-hidden className={css.turning} />
      <span>{what} …</span>
    </div>
  );
}

/** Says why there is nothing here, and how there would be something. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className={css.empty}>
      <Inbox aria-hidden />
      <strong>{title}</strong>
      {children !== undefined && <div className="soft">{children}</div>}
    </div>
  );
}

interface AskedProps<T> {
  readonly query: { readonly data: T | undefined; readonly error: unknown; readonly refetch: () => unknown };
  readonly what?: string;
  readonly children: (data: T) => ReactNode;
}

/** Shows what was asked for, or that it is on its way, or why it does not come. */
export function Asked<T>({ query, what, children }: AskedProps<T>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null && query.error !== undefined)
    return <ProblemNotice problem={query.error} onRetried={() => void query.refetch()} />;
  return <Loading {...(what !== undefined && { what })} />;
}
