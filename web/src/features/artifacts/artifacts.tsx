import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { ArtifactOut } from "../../api/schema.gen.ts";
import { Button } from "../../ui/button.tsx";
import { Asked, Empty } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { sizeOf } from "../../ui/sizes.ts";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { useArtifacts } from "./queries.ts";

/** What was kept last: attachments, what agents brought out, and what people uploaded. */
export function Artifacts() {
  const artifacts = useArtifacts();
  return (
    <Panel title="Kept last">
      <Asked query={artifacts} what="Reading the artifacts">
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items);
          if (items.length === 0)
            return (
              <Empty title="Nothing is kept yet">Attach a file in a chat, or let an agent bring something out.</Empty>
            );
          return (
            <>
              <Table
                caption="Artifacts, newest first"
                rows={items}
                keyOf={(artifact: ArtifactOut) => artifact.id}
                columns={[
                  {
                    title: "Name",
                    of: ({ id, name, sha256 }) => (
                      <Link to={addresses.artifact(id)}>{name ?? sha256.slice(0, 16)}</Link>
                    ),
                  },
                  { title: "Type", of: ({ media_type }) => media_type },
                  { title: "Size", of: ({ size }) => sizeOf(size), isNumber: true },
                  { title: "Kept by", of: ({ created_by }) => created_by },
                  { title: "When", of: ({ created_at }) => <When at={created_at} /> },
                ]}
              />
              {artifacts.hasNextPage && <Button onClick={() => void artifacts.fetchNextPage()}>Show more</Button>}
            </>
          );
        }}
      </Asked>
    </Panel>
  );
}
