import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { MoveOut } from "../../api/schema.gen.ts";
import { Badge } from "../../ui/badge.tsx";
import { Asked } from "../../ui/notice.tsx";
import { Facts, Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { usePointer, usePointerHistory } from "./queries.ts";

/** A name, where it stands, and everywhere it has been. */
export function PointerView({ id }: { readonly id: string }) {
  const pointer = usePointer(id);
  return (
    <Asked query={pointer} what="Reading the pointer">
      {(found) => (
        <>
          <Panel
            title={`${found.namespace}/${found.name}`}
            aside={
              <>
                <Badge>{found.kind}</Badge>
                {found.deleted_at !== null && <Badge tone="bad">deleted</Badge>}
              </>
            }
          >
            {found.description !== null && <p>{found.description}</p>}
            <Facts
              of={[
                [
                  "Stands at",
                  found.manifest === null ? (
                    "nothing: it is empty"
                  ) : (
                    <Link key="at" to={addresses.manifest(found.manifest)}>
                      {found.manifest.slice(0, 16)}
                    </Link>
                  ),
                ],
                ["Moves", found.moves],
                ["Made by", found.created_by],
                ["Last moved", <When key="moved" at={found.updated_at} />],
                ["Id", <code key="id">{found.id}</code>],
              ]}
            />
          </Panel>
          <History id={id} />
        </>
      )}
    </Asked>
  );
}

function History({ id }: { readonly id: string }) {
  const history = usePointerHistory(id);
  return (
    <Panel title="Where it has been">
      <Asked query={history} what="Reading the history">
        {({ items }) => (
          <Table
            caption="Moves, newest first"
            rows={items}
            keyOf={(move: MoveOut) => String(move.no)}
            columns={[
              { title: "Move", of: (move) => <Badge>{move.operation}</Badge> },
              { title: "To", of: (move) => <To move={move} /> },
              { title: "Why", of: (move) => move.reason ?? <Run move={move} /> },
              { title: "By", of: (move) => move.moved_by },
              { title: "When", of: (move) => <When at={move.moved_at} /> },
            ]}
          />
        )}
      </Asked>
    </Panel>
  );
}

function To({ move: { old, new: now } }: { readonly move: MoveOut }) {
  if (now === null) return <>nothing</>;
  return (
    <span className="row">
      <Link to={addresses.manifest(now)}>{now.slice(0, 10)}</Link>
      {old !== null && old !== now && <Link to={addresses.manifest(now, old)}>what changed</Link>}
    </span>
  );
}

function Run({ move: { session_id, run_id } }: { readonly move: MoveOut }) {
  if (session_id === null) return <span className="soft">not said</span>;
  return run_id === null ? (
    <Link to={addresses.scope(session_id)}>a session</Link>
  ) : (
    <Link to={addresses.why(session_id, run_id)}>a run</Link>
  );
}
