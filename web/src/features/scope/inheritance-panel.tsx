import { useState } from "react";
import type { LayerOut, SessionOut } from "../../api/schema.gen.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { useToasts } from "../../ui/toasts.tsx";
import { changesBetween, type Given, givenTo, newsOf } from "./inheritance.ts";
import { useLayers, useNames, useRebase } from "./queries.ts";
import css from "./scope.module.css";

interface InheritanceProps {
  readonly session: SessionOut;
  readonly mayWrite: boolean;
}

/** What holds for the session and which level said so; frozen when it began, and brought up to date by a rebase. */
export function Inheritance({ session, mayWrite }: InheritanceProps) {
  const layers = useLayers(session.context_chain);
  const nameOf = useWords();
  const news = newsOf(session, layers, nameOf);
  return (
    <Panel title="What holds here" aside={mayWrite && <Rebase session={session} news={news} />}>
      <Table
        caption="Policy, model and limits"
        rows={givenTo(session)}
        keyOf={({ name }: Given) => name}
        columns={[
          { title: "What", of: ({ name }) => name },
          { title: "Value", of: ({ value }) => value },
          {
            title: "Given by",
            of: ({ level }) =>
              level === undefined ? (
                <span className="soft">nobody: the default</span>
              ) : (
                <Badge tone="accent">{level}</Badge>
              ),
          },
        ]}
      />
      <section>
        <h3>Inherited from</h3>
        {session.context_chain.length === 0 ? (
          <p className="soft">No layer gave this session anything.</p>
        ) : (
          <ol className={css.chain}>
            {session.context_chain.map((link) => (
              <li key={`${link.level} ${link.id}`}>
                <Badge tone="accent">{link.level}</Badge> {layerName(layers, link.id)}
                <span className={css.small}> revision {link.revision}</span>
              </li>
            ))}
          </ol>
        )}
        {news.length > 0 && (
          <div className={css.news}>
            <strong>The layers have changed since.</strong>
            <ul>
              {news.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </div>
        )}
        <p className={css.small}>
          All of it was frozen when the session began or was rebased: <code>{session.context_sha256.slice(0, 16)}</code>
          <Copy text={session.context_sha256} label="Copy the hash" />
        </p>
      </section>
    </Panel>
  );
}

function Rebase({ session, news }: { readonly session: SessionOut; readonly news: readonly string[] }) {
  const rebase = useRebase(session);
  const nameOf = useWords();
  const { tell } = useToasts();
  const [isAsking, setAsking] = useState(false);
  const onConfirmed = () =>
    rebase.mutate(undefined, {
      onSuccess: (after) => {
        const changes = changesBetween(session, after, nameOf);
        tell(changes.length === 0 ? "Rebased. Nothing is different." : `Rebased. ${changes.join("; ")}.`);
        setAsking(false);
      },
    });
  return (
    <>
      <Button onClick={() => setAsking(true)}>Rebase</Button>
      <Confirm
        title="Inherit anew?"
        action="Rebase"
        isDangerous={false}
        isOpen={isAsking}
        isBusy={rebase.isPending}
        onConfirmed={onConfirmed}
        onClosed={() => setAsking(false)}
      >
        <p>The session takes over what its layers say now. What it pinned and removed itself stays.</p>
        {news.length === 0 ? (
          <p className="soft">No layer that it inherited from has changed.</p>
        ) : (
          <ul>
            {news.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        )}
        {rebase.error !== null && <ProblemNotice problem={rebase.error} />}
      </Confirm>
    </>
  );
}

/** The kind of a resource and what people call it. */
function useWords(): (kind: string, id: string) => string {
  const nameOf = useNames();
  return (kind, id) => `${kind.replaceAll("_", " ")} “${nameOf(kind, id)}”`;
}

function layerName(layers: readonly LayerOut[], id: string): string {
  return layers.find((layer) => layer.id === id)?.name ?? id;
}
