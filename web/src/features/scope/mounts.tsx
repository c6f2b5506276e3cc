import { useState } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { MountOut, MountsIn, SessionOut } from "../../api/schema.gen.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Empty, ProblemNotice } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { useToasts } from "../../ui/toasts.tsx";
import { PinForm } from "./pin-form.tsx";
import { useMountChange, useNames } from "./queries.ts";
import css from "./scope.module.css";

interface MountsProps {
  readonly session: SessionOut;
  readonly mayWrite: boolean;
}

/** What is mounted, which layer gave it, and whether it can be used. */
export function Mounts({ session, mayWrite }: MountsProps) {
  const change = useMountChange(session);
  const { tell } = useToasts();
  const nameOf = useNames();
  const [removed, setRemoved] = useState<MountOut>();
  const ask = (mounts: MountsIn, said: string) =>
    change.mutate(mounts, { onSuccess: () => tell(said), onSettled: () => setRemoved(undefined) });
  const pin = ({ kind, id, mode }: MountOut) => {
    if (kind !== "pack") ask({ pin: [{ kind, id, mode }] }, "It is mounted again.");
  };
  const remove = ({ kind, id }: MountOut) => {
    if (kind !== "pack") ask({ unpin: [{ kind, id }] }, "It is no longer mounted.");
  };
  return (
    <Panel title="Mounts">
      {change.error !== null && <ProblemNotice problem={change.error} />}
      {session.mounts.length === 0 ? (
        <Empty title="Nothing is mounted">
          Pin a pointer, a knowledge base or an artifact to let the agent use it.
        </Empty>
      ) : (
        <Table
          caption="What is mounted"
          rows={session.mounts}
          keyOf={({ kind, id }: MountOut) => `${kind} ${id}`}
          columns={[
            { title: "What", of: (mount) => <What mount={mount} name={nameOf(mount.kind, mount.id)} /> },
            { title: "Given by", of: (mount) => <Badge tone="accent">{mount.source}</Badge> },
            { title: "State", of: (mount) => <State of={mount.state} /> },
            { title: "How", of: (mount) => <How mount={mount} /> },
            { title: "Since", of: (mount) => <When at={mount.mounted_at} /> },
            {
              title: "Change",
              of: (mount) =>
                mayWrite &&
                mount.kind !== "pack" &&
                (mount.state === "removed" ? (
                  <Button onClick={() => pin(mount)}>Pin again</Button>
                ) : (
                  <Button look="danger" onClick={() => setRemoved(mount)}>
                    Remove
                  </Button>
                )),
            },
          ]}
        />
      )}
      {mayWrite && (
        <PinForm isBusy={change.isPending} onPinned={(pinned) => ask({ pin: [pinned] }, "It is mounted.")} />
      )}
      <Confirm
        title="Remove this mount?"
        action="Remove"
        isOpen={removed !== undefined}
        isBusy={change.isPending}
        onConfirmed={() => removed !== undefined && remove(removed)}
        onClosed={() => setRemoved(undefined)}
      >
        <p>
          This session loses {removed === undefined ? "it" : nameOf(removed.kind, removed.id)} at once, also in a turn
          that is running. No other session notices, and nothing is deleted.
          {removed !== undefined &&
            removed.source !== "session" &&
            " It can be pinned again, and then comes from where it came before."}
        </p>
      </Confirm>
    </Panel>
  );
}

function What({ mount, name }: { readonly mount: MountOut; readonly name: string }) {
  const to =
    mount.kind === "pointer"
      ? addresses.pointer(mount.id)
      : mount.kind === "artifact"
        ? addresses.artifact(mount.id)
        : undefined;
  return (
    <span className={css.what}>
      <strong>{to === undefined ? name : <Link to={to}>{name}</Link>}</strong>
      <span className={css.small}>{mount.kind.replaceAll("_", " ")}</span>
    </span>
  );
}

const STATES: Readonly<Record<MountOut["state"], readonly [Tone, string]>> = {
  effective: ["good", "in use"],
  removed: ["neutral", "removed here"],
  excluded: ["bad", "excluded by a layer"],
  missing: ["warn", "no longer there"],
};

function State({ of }: { readonly of: MountOut["state"] }) {
  const [tone, words] = STATES[of];
  return <Badge tone={tone}>{words}</Badge>;
}

function How({ mount }: { readonly mount: MountOut }) {
  if (mount.kind === "knowledge_base") return <>as of revision {mount.revision}</>;
  if (mount.kind !== "pointer") return null;
  if (mount.mode === "follow") return <>followed</>;
  return mount.manifest === null ? (
    <>fixed</>
  ) : (
    <Link to={addresses.manifest(mount.manifest)}>fixed to {mount.manifest.slice(0, 10)}</Link>
  );
}
