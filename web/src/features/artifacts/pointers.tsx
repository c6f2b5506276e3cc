import { Link, useSearchParams } from "react-router";
import { addresses } from "../../addresses.ts";
import type { PointerOut } from "../../api/schema.gen.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Asked, Empty } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { usePointers } from "./queries.ts";

/** The pointers of the tenant, newest first: the way to what is kept. */
export function Pointers() {
  const [params, setParams] = useSearchParams();
  const namespace = params.get("namespace") ?? "";
  const pointers = usePointers(namespace);
  return (
    <Panel title="Pointers">
      <TextField
        label="Namespace"
        placeholder="any"
        value={namespace}
        onChange={(event) =>
          setParams(event.target.value === "" ? {} : { namespace: event.target.value }, { replace: true })
        }
      />
      <Asked query={pointers} what="Reading the pointers">
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items);
          if (items.length === 0)
            return (
              <Empty title="There are no pointers">
                An agent makes one when it publishes what it brought out. What came out of a session is on its page
                Scope.
              </Empty>
            );
          return (
            <>
              <Table
                caption="Pointers"
                rows={items}
                keyOf={(pointer: PointerOut) => pointer.id}
                columns={[
                  {
                    title: "Name",
                    of: (pointer) => (
                      <Link to={addresses.pointer(pointer.id)}>
                        {pointer.namespace}/{pointer.name}
                      </Link>
                    ),
                  },
                  { title: "Kind", of: (pointer) => <Badge>{pointer.kind}</Badge> },
                  {
                    title: "Stands at",
                    of: (pointer) =>
                      pointer.manifest === null ? (
                        <span className="soft">nothing</span>
                      ) : (
                        <Link to={addresses.manifest(pointer.manifest)}>{pointer.manifest.slice(0, 10)}</Link>
                      ),
                  },
                  { title: "Moves", of: (pointer) => pointer.moves, isNumber: true },
                  { title: "Last moved", of: (pointer) => <When at={pointer.updated_at} /> },
                ]}
              />
              {pointers.hasNextPage && <Button onClick={() => void pointers.fetchNextPage()}>Show more</Button>}
            </>
          );
        }}
      </Asked>
    </Panel>
  );
}
