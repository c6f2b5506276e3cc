import { useState } from "react";
import type { BaseOut, MountOut, SessionOut, SourceOut } from "../../api/schema.gen.ts";
import { Badge, Status } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Json } from "../../ui/json.tsx";
import { Asked, Empty } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { When } from "../../ui/time.tsx";
import { useToasts } from "../../ui/toasts.tsx";
import css from "./knowledge.module.css";
import { useBase, useBases, useBaseUnits, useMounting, useSource, useSources } from "./queries.ts";
import { contentOf } from "./units.ts";

interface BasesProps {
  readonly session: SessionOut;
  readonly mayWrite: boolean;
}

/** The knowledge bases that this session may use, and those that it could. */
export function Bases({ session, mayWrite }: BasesProps) {
  const mounts = session.mounts.filter((mount) => mount.kind === "knowledge_base");
  return (
    <Panel title="Knowledge bases">
      {mounts.length === 0 && (
        <Empty title="No knowledge base is mounted">
          A knowledge base holds texts and their units for many sessions.
        </Empty>
      )}
      {mounts.map((mount) => (
        <MountedBase key={mount.id} session={session} mount={mount} mayWrite={mayWrite} />
      ))}
      {mayWrite && <MountAnother session={session} mounted={mounts.map(({ id }) => id)} />}
    </Panel>
  );
}

interface MountedBaseProps extends BasesProps {
  readonly mount: MountOut;
}

function MountedBase({ session, mount, mayWrite }: MountedBaseProps) {
  const base = useBase(mount.id);
  const mounting = useMounting(session);
  const { tell, complain } = useToasts();
  const [isLeaving, setLeaving] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const bringUpToDate = () =>
    mounting.mutate(
      { baseId: mount.id, isWanted: true },
      { onSuccess: () => tell("The session sees the base as it is now."), onError: complain },
    );
  const unmount = () =>
    mounting.mutate(
      { baseId: mount.id, isWanted: false },
      {
        onSuccess: () => tell("The base is no longer mounted."),
        onError: complain,
        onSettled: () => setLeaving(false),
      },
    );
  return (
    <article className={css.base}>
      <Asked query={base} what="Reading the base">
        {(found) => (
          <>
            <header className="row">
              <h3>{found.name}</h3>
              {mount.state === "effective" ? <Status of="active" /> : <Badge tone="warn">{mount.state}</Badge>}
              <span className={css.small}>
                from the {mount.source} · {found.units} units · {found.sources} sources
              </span>
              {found.revision > mount.revision && <Badge tone="warn">changed since it was mounted</Badge>}
            </header>
            <div className="row">
              <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                {isOpen ? "Hide what it knows" : "Show what it knows"}
              </Button>
              {mayWrite && mount.state === "effective" && (
                <>
                  {found.revision > mount.revision && (
                    <Button isBusy={mounting.isPending} onClick={bringUpToDate}>
                      Bring up to date
                    </Button>
                  )}
                  <Button look="danger" onClick={() => setLeaving(true)}>
                    Unmount
                  </Button>
                </>
              )}
            </div>
            {isOpen && <BaseContent base={found} />}
            <Confirm
              title={`Unmount ${found.name}?`}
              action="Unmount"
              isOpen={isLeaving}
              isBusy={mounting.isPending}
              onConfirmed={unmount}
              onClosed={() => setLeaving(false)}
            >
              <p>
                No turn of this session can use it from now on, also one that is running. The base itself stays as it
                is.
              </p>
            </Confirm>
          </>
        )}
      </Asked>
    </article>
  );
}

function MountAnother({ session, mounted }: { readonly session: SessionOut; readonly mounted: readonly string[] }) {
  const bases = useBases();
  const mounting = useMounting(session);
  const { tell, complain } = useToasts();
  const [chosen, setChosen] = useState("");
  const others = bases.data?.items.filter(({ id }) => !mounted.includes(id)) ?? [];
  if (others.length === 0) return null;
  const mount = () =>
    mounting.mutate(
      { baseId: chosen, isWanted: true },
      {
        onSuccess: () => {
          tell("The base is mounted.");
          setChosen("");
        },
        onError: complain,
      },
    );
  return (
    <div className={css.mount}>
      <SelectField label="Mount another base" value={chosen} onChange={(event) => setChosen(event.target.value)}>
        <option value="">choose one</option>
        {others.map((base) => (
          <option key={base.id} value={base.id}>
            {base.name} ({base.units} units)
          </option>
        ))}
      </SelectField>
      <Button disabled={chosen === ""} isBusy={mounting.isPending} onClick={mount}>
        Mount
      </Button>
    </div>
  );
}

function BaseContent({ base }: { readonly base: BaseOut }) {
  const units = useBaseUnits(base.id);
  const sources = useSources(base.id);
  const [opened, setOpened] = useState<SourceOut>();
  return (
    <div className={css.baseContent}>
      <section>
        <h4>Sources</h4>
        <Asked query={sources}>
          {({ items }) => (
            <ul className={css.plain}>
              {items.map((source) => (
                <li key={source.id}>
                  <button type="button" className={css.goTo} onClick={() => setOpened(source)}>
                    {source.name}
                  </button>{" "}
                  <span className={css.small}>
                    {source.kind} · {source.units} units · <When at={source.added_at} />
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Asked>
      </section>
      <section>
        <h4>Units</h4>
        <Asked query={units}>
          {({ items, next }) => (
            <>
              <ul className={css.plain}>
                {items.map((unit) => (
                  <li key={unit.id}>{contentOf(unit)}</li>
                ))}
              </ul>
              {next != null && <p className={css.small}>These are the first {items.length}.</p>}
            </>
          )}
        </Asked>
      </section>
      <Dialog
        title={opened?.name ?? "Source"}
        isOpen={opened !== undefined}
        onClosed={() => setOpened(undefined)}
        isWide
      >
        {opened !== undefined && <SourceText baseId={base.id} sourceId={opened.id} />}
      </Dialog>
    </div>
  );
}

function SourceText({ baseId, sourceId }: { readonly baseId: string; readonly sourceId: string }) {
  const source = useSource(baseId, sourceId);
  return <Asked query={source}>{({ content }) => <Json value={content} />}</Asked>;
}
