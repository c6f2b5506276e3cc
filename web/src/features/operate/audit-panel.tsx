import { useEffect, useState } from "react";
import { ask } from "../../api/client.ts";
import type { AuditOut } from "../../api/schema.gen.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { saveFile } from "../../ui/files.ts";
import { Asked, Empty } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import { useToasts } from "../../ui/toasts.tsx";
import { AuditEntry, Outcome, textOf } from "./audit-entry.tsx";
import css from "./operate.module.css";
import { type AuditFilters, useAudit } from "./queries.ts";

/** How far back one may look: an id for the address, a name, and how many days it is. */
export const SPANS: ReadonlyArray<readonly [string, string, number]> = [
  ["hour", "hour", 1 / 24],
  ["day", "24 hours", 1],
  ["week", "7 days", 7],
  ["month", "30 days", 30],
  ["year", "year", 365],
];

interface AuditPanelProps {
  readonly filters: AuditFilters;
  readonly span: string;
  readonly onChosen: (changes: Readonly<Record<string, string>>) => void;
}

/** What was asked for, by whom, and what became of it, newest first. */
export function AuditPanel({ filters, span, onChosen }: AuditPanelProps) {
  const audit = useAudit(filters);
  const [opened, setOpened] = useState<AuditOut | null>(null);
  return (
    <Panel title="Audit" aside={<Export />}>
      <Filters filters={filters} span={span} onChosen={onChosen} />
      <Asked query={audit} what="Reading the audit">
        {({ pages }) => {
          const entries = pages.flatMap((page) => page.items);
          if (entries.length === 0)
            return <Empty title="No entry fits">Choose a longer time, or take a filter away.</Empty>;
          return <Entries entries={entries} onOpened={setOpened} />;
        }}
      </Asked>
      {audit.hasNextPage && (
        <Button isBusy={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
          Show older entries
        </Button>
      )}
      <AuditEntry entry={opened} onClosed={() => setOpened(null)} />
    </Panel>
  );
}

function Entries({
  entries,
  onOpened,
}: {
  readonly entries: readonly AuditOut[];
  readonly onOpened: (entry: AuditOut) => void;
}) {
  return (
    <Table
      caption="Entries of the audit"
      columns={[
        { title: "When", of: (entry) => <When at={entry.at} /> },
        { title: "Who", of: (entry) => textOf(entry.facts.user) },
        {
          title: "Asked for",
          of: (entry) => (
            <button
              type="button"
              className={css.link}
              aria-label={`Details of ${entry.verb}, ${entry.outcome}`}
              onClick={() => onOpened(entry)}
            >
              {entry.verb}
            </button>
          ),
        },
        { title: "What became of it", of: (entry) => <Outcome of={entry.outcome} /> },
      ]}
      rows={entries}
      keyOf={(entry) => entry.id}
    />
  );
}

function Filters({ filters, span, onChosen }: AuditPanelProps) {
  return (
    <search className={css.filters} aria-label="Audit">
      <SelectField label="The last" value={span} onChange={(event) => onChosen({ span: event.target.value })}>
        {SPANS.map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </SelectField>
      <SelectField
        label="What became of it"
        value={filters.outcome}
        onChange={(event) => onChosen({ outcome: event.target.value === "all" ? "" : event.target.value, reason: "" })}
      >
        <option value="all">everything</option>
        <option value="refused">refused</option>
        <option value="allowed">not refused</option>
      </SelectField>
      <TypedField label="Reason" value={filters.reason} onTyped={(reason) => onChosen({ reason, outcome: "" })} />
      <TypedField label="User" value={filters.user} onTyped={(user) => onChosen({ user })} />
      <TypedField label="Asked for" value={filters.verb} onTyped={(verb) => onChosen({ verb })} />
    </search>
  );
}

const TYPED_MS = 300;

interface TypedFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onTyped: (text: string) => void;
}

/** Asks once the typing has paused; the words must be those of the entry, whole. */
function TypedField({ label, value, onTyped }: TypedFieldProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onTyped(text.trim()), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text, value, onTyped]);
  return (
    <TextField
      label={label}
      type="search"
      placeholder="any"
      maxLength={128}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}

function Export() {
  const { complain } = useToasts();
  const [isBusy, setBusy] = useState(false);
  const exportAll = async () => {
    setBusy(true);
    try {
      const response = await ask("/api/v1/audit/export");
      saveFile(await response.blob(), "audit.ndjson");
    } catch (problem) {
      complain(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button isBusy={isBusy} onClick={() => void exportAll()}>
      Export all of it
    </Button>
  );
}
