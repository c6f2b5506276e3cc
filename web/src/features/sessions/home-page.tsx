import { BookOpen, Compass, MessageSquarePlus } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { may, useMe } from "../../api/me.ts";
import { Loading, ProblemNotice } from "../../ui/notice.tsx";
import { Page, Panel } from "../../ui/panel.tsx";
import css from "./home-page.module.css";
import { useRecent } from "./queries.ts";
import { SessionRow } from "./session-list.tsx";

/** Where one goes on: the newest topics, and the ways to begin another. */
export function HomePage() {
  const mayWrite = may(useMe().data, "sessions:write");
  const found = useRecent();
  const recent = found.data?.items ?? [];
  return (
    <Page title="Go on where you were">
      <div className={css.ways}>
        {mayWrite && (
          <>
            <Way to={addresses.newChat} icon={<MessageSquarePlus aria-hidden />} name="Talk">
              Begin a new conversation. It is kept, whatever happens to this page.
            </Way>
            <Way to={addresses.tour} icon={<Compass aria-hidden />} name="Take the tour">
              Memory, a form, a reset, a failed turn and why it failed, in two minutes.
            </Way>
          </>
        )}
        <a className={css.way} href="/docs">
          <BookOpen aria-hidden />
          <strong>Build on it</strong>
          <span className="soft">Every route of the API, to read and to try out.</span>
        </a>
      </div>
      <Panel title="Newest topics" aside={<Link to={addresses.sessions}>All sessions</Link>}>
        {found.error !== null && <ProblemNotice problem={found.error} onRetried={() => void found.refetch()} />}
        {found.isPending && <Loading what="Looking for your topics" />}
        {found.data !== undefined && recent.length === 0 && (
          <p className="soft">Nothing yet. What you begin is listed here, on every device.</p>
        )}
        <ul className={css.recent} aria-label="Newest topics">
          {recent.map((session) => (
            <li key={session.id}>
              <SessionRow session={session} />
            </li>
          ))}
        </ul>
      </Panel>
    </Page>
  );
}

interface WayProps {
  readonly to: string;
  readonly icon: ReactNode;
  readonly name: string;
  readonly children: ReactNode;
}

function Way({ to, icon, name, children }: WayProps) {
  return (
    <Link className={css.way ?? ""} to={to}>
      {icon}
      <strong>{name}</strong>
      <span className="soft">{children}</span>
    </Link>
  );
}
