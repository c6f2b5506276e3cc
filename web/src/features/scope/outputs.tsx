import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { OutputOut } from "../../api/schema.gen.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Asked, Empty } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { useOutputs } from "./queries.ts";

/** What came out of the session: it outlives it. */
export function Outputs({ sessionId }: { readonly sessionId: string }) {
  const outputs = useOutputs(sessionId);
  return (
    <Panel title="What came out">
      <Asked query={outputs} what="Reading the outputs">
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items);
          if (items.length === 0)
            return <Empty title="Nothing came out yet">What an agent emits or publishes is listed here.</Empty>;
          return (
            <>
              <Table
                caption="What came out of this session"
                rows={items}
                keyOf={({ no, ref }: OutputOut) => `${no} ${ref}`}
                columns={[
                  { title: "Kind", of: ({ kind }) => <Badge>{kind}</Badge> },
                  { title: "What", of: (output) => <Link to={addressOf(output)}>{nameOf(output)}</Link> },
                  {
                    title: "Why",
                    of: ({ run_id }) =>
                      run_id === null ? "a person" : <Link to={addresses.why(sessionId, run_id)}>the run</Link>,
                  },
                  { title: "When", of: ({ at }) => <When at={at} /> },
                ]}
              />
              {outputs.hasNextPage && <Button onClick={() => void outputs.fetchNextPage()}>Show more</Button>}
            </>
          );
        }}
      </Asked>
    </Panel>
  );
}

function addressOf({ kind, ref, data }: OutputOut): string {
  if (kind === "pointer") return addresses.pointer(ref);
  if (kind === "artifact") return addresses.artifact(ref);
  return addresses.manifest(ref, typeof data.parent === "string" ? data.parent : undefined);
}

function nameOf({ kind, ref, data }: OutputOut): string {
  if (kind === "pointer" && typeof data.name === "string") return `${String(data.namespace)}/${data.name} moved`;
  const path = data.path ?? data.name;
  return typeof path === "string" ? path : ref.slice(0, 16);
}
