import { NavLink, Outlet, useParams } from "react-router";
import { addresses } from "../../addresses.ts";
import { useSession } from "../../api/sessions.ts";
import { Status } from "../../ui/badge.tsx";
import { Asked } from "../../ui/notice.tsx";
import css from "./session-page.module.css";

/** One session: its name, how it stands, and the ways to look at it. */
export function SessionPage() {
  const { sessionId = "" } = useParams();
  const session = useSession(sessionId);
  return (
    <div className={css.page}>
      <Asked query={session} what="Opening the session">
        {(found) => (
          <>
            <header className={css.head}>
              <h1 className="one-line">{found.title ?? "Untitled session"}</h1>
              <Status of={found.status} />
            </header>
            <nav aria-label="Session" className={css.tabs}>
              <Tab to={addresses.session(sessionId)} name="Chat" />
              <Tab to={addresses.why(sessionId)} name="Why" />
              <Tab to={addresses.knowledge(sessionId)} name="Knowledge" />
              <Tab to={addresses.scope(sessionId)} name="Scope" />
              <Tab to={addresses.history(sessionId)} name="History" />
            </nav>
            <div className={css.body}>
              <Outlet />
            </div>
          </>
        )}
      </Asked>
    </div>
  );
}

function Tab({ to, name }: { readonly to: string; readonly name: string }) {
  return (
    <NavLink to={to} end={name === "Chat"} className={({ isActive }) => `${css.tab} ${isActive ? css.here : ""}`}>
      {name}
    </NavLink>
  );
}
