import { CircleAlert, CircleCheck, CircleDashed, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { ExplanationOut } from "../../api/schema.gen.ts";
import { Badge, Status } from "../../ui/badge.tsx";
import { Copy } from "../../ui/copy.tsx";
import { When } from "../../ui/time.tsx";
import { isOpen } from "./facts.ts";
import { useEffects } from "./queries.ts";
import { type StoryTone, story } from "./story.ts";
import css from "./why.module.css";

const ICONS: Readonly<Record<StoryTone, typeof CircleAlert>> = {
  good: CircleCheck,
  warn: TriangleAlert,
  bad: CircleAlert,
  info: CircleDashed,
  neutral: CircleDashed,
};

interface StoryPanelProps {
  readonly told: ExplanationOut;
  readonly answer: string | undefined;
  /** What else can be done with this run. */
  readonly children: ReactNode;
}

/** What happened, for somebody who does not know the system: it comes first, and it suffices. */
export function StoryPanel({ told, answer, children }: StoryPanelProps) {
  const effects = useEffects(told.session_id, told.run_id).data?.items;
  const { tone, headline, answers } = story(told, effects);
  const Icon = ICONS[tone];
  return (
    <section className={`${css.story} ${css[tone]}`} aria-labelledby="story">
      <header className={css.headline}>
        <Icon aria-hidden />
        <h2 id="story">{headline}</h2>
        <Status of={told.status} />
        {told.partial && <Badge tone="warn">partial</Badge>}
      </header>
      <dl className={css.answers} aria-live={isOpen(told.status) ? "polite" : "off"}>
        <div>
          <dt>What was asked</dt>
          <dd className={css.quote}>
            {told.asked === "" ? <span className="soft">(nothing in words)</span> : told.asked}
          </dd>
        </div>
        {told.status === "completed" && (
          <div>
            <dt>What was answered</dt>
            <dd className={css.quote}>{answer ?? told.preview}</dd>
          </div>
        )}
        {answers.map(([question, text]) => (
          <div key={question}>
            <dt>{question}</dt>
            <dd>{text}</dd>
          </div>
        ))}
        <div>
          <dt>When, and its id</dt>
          <dd className="row">
            <When at={told.at} /> · <code>{told.run_id}</code>{" "}
            <Copy text={told.run_id} label="Copy the id of the run" />
          </dd>
        </div>
      </dl>
      <footer className={css.foot}>
        <Link to={addresses.session(told.session_id)}>Go to the chat</Link>
        {told.error !== null && (
          <span className="soft">
            Error code <code>{told.error.code}</code>
          </span>
        )}
        {children}
      </footer>
    </section>
  );
}
