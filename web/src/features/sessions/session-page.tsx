import { Pin } from "lucide-react";
import { useEffect, useRef } from "react";
import { Link, Navigate, NavLink, Outlet, useLocation, useParams } from "react-router";
import { addresses } from "../../addresses.ts";
import { useLayout } from "../../api/layout.ts";
import type { SessionOut } from "../../api/schema.gen.ts";
import { useSession } from "../../api/sessions.ts";
import { Status } from "../../ui/badge.tsx";
import { Asked, Loading } from "../../ui/notice.tsx";
import { Countdown } from "../../ui/time.tsx";
import { SessionActions } from "./session-actions.tsx";
import css from "./session-page.module.css";
import { SessionTitle } from "./session-title.tsx";

/** The ways to look at a session; the last one is kept in its layout, so that coming back leads there. */
const VIEWS = {
  chat: { name: "Chat", at: addresses.session },
  why: { name: "Why", at: (id: string) => addresses.why(id) },
  knowledge: { name: "Knowledge", at: addresses.knowledge },
  scope: { name: "Scope", at: addresses.scope },
  history: { name: "History", at: addresses.history },
} as const;
type View = keyof typeof VIEWS;

/** One session: its name, how it stands, and the ways to look at it. */
export function SessionPage() {
  const { sessionId = "" } = useParams();
  const session = useSession(sessionId);
  return (
    <div className={css.page}>
      <Asked query={session} what="Opening the session">
        {(found) => <Opened key={found.id} session={found} />}
      </Asked>
    </div>
  );
}

function Opened({ session }: { readonly session: SessionOut }) {
  const { pathname, search } = useLocation();
  const { layout, isReady, keep } = useLayout(session.id);
  const isComingBack = new URLSearchParams(search).has("back");
  const view = viewAt(pathname);
  // A session that is over keeps its layout as it was.
  const isOpen = session.status === "active" || session.status === "paused";
  useEffect(() => {
    if (isReady && isOpen && !isComingBack) keep({ view });
  }, [isReady, isOpen, isComingBack, view, keep]);
  if (isComingBack) {
    if (!isReady) return <Loading what="Going back to where you were" />;
    return <Navigate to={VIEWS[knownView(layout.view)].at(session.id)} replace />;
  }
  return (
    <>
      <header className={css.head}>
        <SessionTitle session={session} view={VIEWS[view].name} />
        <span className={css.status}>
          <Status of={session.status} />
        </span>
        <Standing session={session} />
        <SessionActions session={session} />
      </header>
      <Tabs sessionId={session.id} view={view} />
      <div className={css.body}>
        <Outlet />
      </div>
    </>
  );
}

/** On a phone not all of them fit: the one that is open is brought into sight. */
function Tabs({ sessionId, view }: { readonly sessionId: string; readonly view: View }) {
  const box = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the open tab is another one when the view is.
  useEffect(() => {
    box.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [view]);
  return (
    <nav aria-label="Session" className={css.tabs} ref={box}>
      {Object.entries(VIEWS).map(([key, { name, at }]) => (
        <NavLink
          key={key}
          to={at(sessionId)}
          end={key === "chat"}
          className={({ isActive }) => `${css.tab} ${isActive ? css.here : ""}`}
        >
          {name}
        </NavLink>
      ))}
    </nav>
  );
}

/** What is pinned here, and how long the session still lasts. */
function Standing({ session }: { readonly session: SessionOut }) {
  const pinned = session.mounts.filter((mount) => mount.source === "session").length;
  return (
    <span className={`soft ${css.standing}`}>
      {pinned > 0 && (
        <Link to={addresses.scope(session.id)} className={css.pinned}>
          <Pin aria-hidden /> {pinned} pinned
        </Link>
      )}
      {session.status === "active" && (
        <span>
          expires in <Countdown until={session.expires_at} />
        </span>
      )}
      {session.status === "paused" && <Reason text={session.pause_reason ?? "paused"} />}
      {(session.status === "closed" || session.status === "expired") && <Reason text={session.closed_reason ?? ""} />}
    </span>
  );
}

/** In a line, however much somebody wrote; History has all of it. */
function Reason({ text }: { readonly text: string }) {
  return (
    <span className={`one-line ${css.reason}`} title={text}>
      {text}
    </span>
  );
}

function viewAt(pathname: string): View {
  const part = pathname.split("/")[3] ?? "";
  return knownView(part);
}

function knownView(name: unknown): View {
  return typeof name === "string" && name in VIEWS ? (name as View) : "chat";
}
