import { FileText, Folder as FolderIcon } from "lucide-react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { ManifestOut } from "../../api/schema.gen.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Json } from "../../ui/json.tsx";
import { Asked } from "../../ui/notice.tsx";
import { Facts, Panel } from "../../ui/panel.tsx";
import { sizeOf } from "../../ui/sizes.ts";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { Hash } from "./artifact-view.tsx";
import css from "./artifacts.module.css";
import { type Folder, foldersOf } from "./content.ts";
import { useDiff, useEntries, useManifest, useManifestHistory } from "./queries.ts";

/** A tree of artifacts, what came before it, and what changed from another one. */
export function ManifestView({ sha256, against }: { readonly sha256: string; readonly against: string | undefined }) {
  const manifest = useManifest(sha256);
  return (
    <Asked query={manifest} what="Reading the manifest">
      {(found) => (
        <>
          <Panel title={found.message ?? "Manifest"}>
            <Facts
              of={[
                ["Entries", found.entry_count],
                ["Size", sizeOf(found.total_size)],
                ["Made", <When key="made" at={found.created_at} />],
                ["Made by", found.created_by],
                ["Hash", <Hash key="hash" of={found.sha256} />],
              ]}
            />
            {Object.keys(found.metadata).length > 0 && <Json value={found.metadata} />}
          </Panel>
          {against !== undefined && <Changes sha256={sha256} against={against} />}
          <Entries sha256={sha256} />
          <History sha256={sha256} />
        </>
      )}
    </Asked>
  );
}

function Entries({ sha256 }: { readonly sha256: string }) {
  const entries = useEntries(sha256);
  return (
    <Panel title="Entries">
      <Asked query={entries} what="Reading the entries">
        {({ pages }) => (
          <>
            <FolderList folder={foldersOf(pages.flatMap((page) => page.items))} />
            {entries.hasNextPage && <Button onClick={() => void entries.fetchNextPage()}>Show more</Button>}
          </>
        )}
      </Asked>
    </Panel>
  );
}

function FolderList({ folder }: { readonly folder: Folder }) {
  return (
    <ul className={css.tree}>
      {folder.folders.map((below) => (
        <li key={below.name}>
          <details open>
            <summary>
              <FolderIcon aria-hidden /> {below.name}
            </summary>
            <FolderList folder={below} />
          </details>
        </li>
      ))}
      {folder.files.map((file) => (
        <li key={file.name}>
          <FileText aria-hidden /> <Link to={addresses.artifact(file.sha256)}>{file.name}</Link>{" "}
          <code className={css.small}>{file.sha256.slice(0, 10)}</code>
        </li>
      ))}
    </ul>
  );
}

function Changes({ sha256, against }: { readonly sha256: string; readonly against: string }) {
  const diff = useDiff(sha256, against);
  return (
    <Panel title="What changed" aside={<Link to={addresses.manifest(sha256)}>Stop comparing</Link>}>
      <p className="soft">
        From <Link to={addresses.manifest(against)}>{against.slice(0, 10)}</Link> to this one.
      </p>
      <Asked query={diff} what="Comparing">
        {({ added, removed, modified }) =>
          added.length + removed.length + modified.length === 0 ? (
            <p>Nothing: both hold the same.</p>
          ) : (
            <ul className={css.changes}>
              {added.map((entry) => (
                <li key={entry.path}>
                  <Badge tone="good">added</Badge> <Link to={addresses.artifact(entry.sha256)}>{entry.path}</Link>
                </li>
              ))}
              {removed.map((entry) => (
                <li key={entry.path}>
                  <Badge tone="bad">removed</Badge> <Link to={addresses.artifact(entry.sha256)}>{entry.path}</Link>
                </li>
              ))}
              {modified.map((entry) => (
                <li key={entry.path}>
                  <Badge tone="warn">changed</Badge> {entry.path}{" "}
                  <Link to={`${addresses.artifact(entry.new)}&against=${entry.old}`}>what is different</Link>
                </li>
              ))}
            </ul>
          )
        }
      </Asked>
    </Panel>
  );
}

function History({ sha256 }: { readonly sha256: string }) {
  const history = useManifestHistory(sha256);
  return (
    <Panel title="What it came from">
      <Asked query={history} what="Reading the history">
        {({ items }) => (
          <Table
            caption="This manifest and those before it"
            rows={items}
            keyOf={(manifest: ManifestOut) => manifest.sha256}
            columns={[
              {
                title: "Manifest",
                of: (manifest) => (
                  <Link to={addresses.manifest(manifest.sha256)}>
                    {manifest.message ?? manifest.sha256.slice(0, 10)}
                  </Link>
                ),
              },
              { title: "Entries", of: (manifest) => manifest.entry_count, isNumber: true },
              { title: "Made", of: (manifest) => <When at={manifest.created_at} /> },
              {
                title: "Compare",
                of: (manifest) =>
                  manifest.sha256 !== sha256 && (
                    <Link to={addresses.manifest(sha256, manifest.sha256)}>what changed since</Link>
                  ),
              },
            ]}
          />
        )}
      </Asked>
    </Panel>
  );
}
