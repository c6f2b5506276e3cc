import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { addresses } from "../../addresses.ts";
import { answered, api, Problem } from "../../api/client.ts";
import type { SessionEventOut, SessionOut } from "../../api/schema.gen.ts";
import { sessionKey, useSession } from "../../api/sessions.ts";
import { Status } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Asked } from "../../ui/notice.tsx";
import { Facts, Page, Panel } from "../../ui/panel.tsx";
import { When } from "../../ui/time.tsx";
import { type Branch, familyOf, type Relatives } from "./family.ts";
import css from "./history-page.module.css";
import { useEvents } from "./queries.ts";
import { sentenceOf } from "./sentences.ts";

/** What became of a session: where it comes from, what was forked from it, and what happened to it, in order. */
export function HistoryPage() {
  const { sessionId = "" } = useParams();
  const session = useSession(sessionId);
  return (
    <Page isTab title="History">
      <Asked query={session}>
        {(found) => (
          <>
            <About session={found} />
            <ForkTree session={found} />
            <Events sessionId={found.id} />
          </>
        )}
      </Asked>
    </Page>
  );
}

function About({ session }: { readonly session: SessionOut }) {
  return (
    <Panel title="About">
      <Facts
        of={[
          [
            "Id",
            <span key="id" className="row">
              <span className="mono">{session.id}</span>
              <Copy text={session.id} label="Copy the id" />
            </span>,
          ],
          ["Agent", session.agent],
          ["Owner", session.owner],
          ["Began", <When key="began" at={session.created_at} />],
          ["Last active", <When key="active" at={session.last_active_at} />],
          ["Turns", session.turns],
          ["Resets", session.epoch - 1],
          ["Packs", session.packs.length === 0 ? "none" : session.packs.join(", ")],
          ["If two messages come at once", session.double_text ?? "as the agent has it"],
          ...(session.from_session_id === null
            ? []
            : ([
                [
                  "Continues",
                  <Link key="from" to={addresses.session(session.from_session_id)}>
                    the session before
                  </Link>,
                ],
              ] as const)),
        ]}
      />
    </Panel>
  );
}

const relatives: Relatives = {
  session: async (id) => {
    try {
      return await answered(api.GET("/api/v1/sessions/{session_id}", { params: { path: { session_id: id } } }));
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return null;
      throw error;
    }
  },
  forksOf: async (id) =>
    (await answered(api.GET("/api/v1/sessions", { params: { query: { fork_of: id, limit: 100 } } }))).items,
};

function ForkTree({ session }: { readonly session: SessionOut }) {
  const family = useQuery({
    queryKey: [...sessionKey(session.id), "family"],
    queryFn: () => familyOf(session, relatives),
  });
  return (
    <Panel title="Forks">
      <Asked query={family}>
        {({ root, isCut }) =>
          root.forks.length === 0 ? (
            <p className="soft">
              Nothing was forked from this session. Edit an earlier message in the chat, or choose “Fork from here”.
            </p>
          ) : (
            <>
              <ul className={css.tree}>
                <Twig branch={root} here={session.id} />
              </ul>
              {isCut && <p className="soft">There are more forks than are drawn here.</p>}
            </>
          )
        }
      </Asked>
    </Panel>
  );
}

function Twig({ branch: { session, forks }, here }: { readonly branch: Branch; readonly here: string }) {
  const isHere = session.id === here;
  const name = session.title ?? `Session of ${session.agent}`;
  return (
    <li>
      <span className="row">
        {isHere ? <strong aria-current="page">{name}</strong> : <Link to={addresses.history(session.id)}>{name}</Link>}
        {session.fork_turn !== null && <span className="soft">after turn {session.fork_turn}</span>}
        <Status of={session.status} />
        <span className="soft">{session.turns === 1 ? "1 turn" : `${session.turns} turns`}</span>
      </span>
      {forks.length > 0 && (
        <ul>
          {forks.map((fork) => (
            <Twig key={fork.session.id} branch={fork} here={here} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Events({ sessionId }: { readonly sessionId: string }) {
  const events = useEvents(sessionId);
  return (
    <Panel title="What happened">
      <Asked query={events}>
        {({ pages }) => (
          <ol className={css.events}>
            {pages
              .flatMap((page) => page.items)
              .map((event) => (
                <Event key={event.no} event={event} sessionId={sessionId} />
              ))}
          </ol>
        )}
      </Asked>
      {events.hasNextPage && (
        <Button isBusy={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
          Show more
        </Button>
      )}
    </Panel>
  );
}

function Event({ event, sessionId }: { readonly event: SessionEventOut; readonly sessionId: string }) {
  return (
    <li>
      <span className={`soft ${css.when}`}>
        <When at={event.at} />
      </span>
      <span className="grow">
        {sentenceOf(event)}
        {event.by !== null && <span className="soft"> · {event.by}</span>}
        {event.run_id !== null && (
          <>
            {" · "}
            <Link to={addresses.why(sessionId, event.run_id)}>why</Link>
          </>
        )}
      </span>
    </li>
  );
}
