import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { Asked } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { Countdown, When } from "../../ui/time.tsx";
import { Name } from "./name.tsx";
import css from "./operate.module.css";
import { useLiveSessions } from "./queries.ts";

/** Where somebody talked last. */
export function SessionsPanel() {
  const sessions = useLiveSessions();
  const total = sessions.data?.total;
  return (
    <Panel
      title="Live sessions"
      aside={
        <Link to={`${addresses.sessions}?status=active`}>
          {total === undefined || total === null ? "All of them" : `All ${total}`}
        </Link>
      }
    >
      <Asked query={sessions} what="Looking for sessions">
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">No session is active.</p>
          ) : (
            <Table
              caption="Sessions that were active last"
              columns={[
                {
                  title: "Session",
                  of: (session) => (
                    <Link to={addresses.session(session.id)} className={css.said ?? ""}>
                      {session.title ?? session.opening ?? "Nothing said yet"}
                    </Link>
                  ),
                },
                { title: "Agent", of: (session) => <Name of={session.agent} /> },
                { title: "Owner", of: (session) => <Name of={session.owner} /> },
                { title: "Turns", of: (session) => session.turns, isNumber: true },
                { title: "Last active", of: (session) => <When at={session.last_active_at} /> },
                { title: "Expires in", of: (session) => <Countdown until={session.expires_at} /> },
              ]}
              rows={items}
              keyOf={(session) => session.id}
            />
          )
        }
      </Asked>
    </Panel>
  );
}
