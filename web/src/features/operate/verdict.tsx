import { CircleAlert, CircleCheck, TriangleAlert } from "lucide-react";
import css from "./operate.module.css";
import type { Worry } from "./stuck.ts";

interface VerdictProps {
  readonly worries: readonly Worry[];
  readonly readiness: { readonly isReady: boolean; readonly says: string } | undefined;
}

/** The answer to "is anything stuck?", before the details. */
export function Verdict({ worries, readiness }: VerdictProps) {
  const isDown = readiness?.isReady === false;
  const isBad = isDown || worries.some(({ tone }) => tone === "bad");
  const count = worries.length + (isDown ? 1 : 0);
  const [Icon, tone] = isBad ? [CircleAlert, css.bad] : count > 0 ? [TriangleAlert, css.warn] : [CircleCheck, ""];
  return (
    <section aria-label="Is anything stuck?" className={`${css.verdict} ${tone}`}>
      <div className="row">
        <Icon aria-hidden />
        <strong role="status">
          {count === 0 ? "Nothing is stuck" : count === 1 ? "1 thing needs a look" : `${count} things need a look`}
        </strong>
        {readiness?.isReady === true && <span className="soft">This node takes messages, {readiness.says}.</span>}
      </div>
      {count > 0 && (
        <ul className={css.worries}>
          {isDown && <li>This node takes no messages: {readiness?.says}</li>}
          {worries.map(({ key, text, runId }) => (
            <li key={key}>{runId === undefined ? text : <a href={`#${runId}`}>{text}</a>}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
