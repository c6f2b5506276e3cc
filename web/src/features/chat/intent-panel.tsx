import { useQuery } from "@tanstack/react-query";
import { Lock, LockOpen } from "lucide-react";
import { type FormEvent, useMemo, useState } from "react";
import { answered, api } from "../../api/client.ts";
import type { DialogueOut, SessionOut } from "../../api/schema.gen.ts";
import { sessionKey } from "../../api/sessions.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Asked } from "../../ui/notice.tsx";
import { Facts, Panel } from "../../ui/panel.tsx";
import { FieldInput } from "./field-input.tsx";
import { type Answers, type Field, fieldsOf, paramsOf, schemaOf, sentenceOf } from "./intent-form.ts";
import css from "./intent-panel.module.css";

export type OnAnswered = (text: string, params: Readonly<Record<string, unknown>>) => void;

/** What the user wants as the session understood it: how far it has come, and what is still missing. */
export function IntentPanel({
  session,
  onAnswered,
}: {
  readonly session: SessionOut;
  readonly onAnswered: OnAnswered | undefined;
}) {
  const held = useQuery({
    queryKey: [...sessionKey(session.id), "intent"],
    queryFn: () =>
      answered(api.GET("/api/v1/sessions/{session_id}/intent", { params: { path: { session_id: session.id } } })),
  });
  return (
    <Panel title="Intent">
      <Asked query={held} what="Reading the intent">
        {(dialogue) => <Held dialogue={dialogue} onAnswered={onAnswered} />}
      </Asked>
    </Panel>
  );
}

function Held({
  dialogue,
  onAnswered,
}: {
  readonly dialogue: DialogueOut;
  readonly onAnswered: OnAnswered | undefined;
}) {
  const files = usePackFiles(dialogue.packs);
  const missing = dialogue.lock?.missing ?? [];
  const schema = useMemo(() => schemaOf(files, dialogue.code, dialogue.state), [files, dialogue.code, dialogue.state]);
  const known = Object.entries(dialogue.fields);
  const titles = new Map(
    fieldsOf(
      schema,
      known.map(([name]) => name),
    ).map((field) => [field.name, field.title]),
  );
  if (dialogue.packs.length === 0)
    return (
      <p className="soft">This session follows no pack, so no intent is held. Choose a pack when you begin a chat.</p>
    );
  if (dialogue.code === "UNKNOWN" && dialogue.clarification === null)
    return <p className="soft">Nothing yet: say what you want, and the pack finds out which intent it is.</p>;
  return (
    <div className="stack">
      <div className="row">
        <strong>{dialogue.code}</strong>
        <Badge tone="info">{dialogue.state}</Badge>
        {dialogue.lock === null ? (
          <Badge>
            <LockOpen aria-hidden className={css.icon} /> not locked
          </Badge>
        ) : (
          <Badge tone="warn">
            <Lock aria-hidden className={css.icon} /> locked
          </Badge>
        )}
      </div>
      {dialogue.lock !== null && (
        <p className="soft">The session stays with this intent until the fields below are answered.</p>
      )}
      {dialogue.clarification !== null && <Unclear of={dialogue.clarification} onAnswered={onAnswered} />}
      {known.length > 0 && (
        <div>
          <h3>Known already</h3>
          <Facts of={known.map(([name, value]) => [titles.get(name) ?? name, written(value)] as const)} />
        </div>
      )}
      {missing.length > 0 && (
        <MissingForm key={missing.join()} fields={fieldsOf(schema, missing)} onAnswered={onAnswered} />
      )}
    </div>
  );
}

function written(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.map(written).join(", ") : JSON.stringify(value);
}

function Unclear({
  of,
  onAnswered,
}: {
  readonly of: NonNullable<DialogueOut["clarification"]>;
  readonly onAnswered: OnAnswered | undefined;
}) {
  return (
    <div className="stack">
      <p>{of.question}</p>
      <div className="row">
        {of.options.map((option) => (
          <Button key={option.code} disabled={onAnswered === undefined} onClick={() => onAnswered?.(option.label, {})}>
            {option.label}
          </Button>
        ))}
      </div>
    </div>
  );
}

function MissingForm({
  fields,
  onAnswered,
}: {
  readonly fields: readonly Field[];
  readonly onAnswered: OnAnswered | undefined;
}) {
  const [answers, setAnswers] = useState<Answers>({});
  const params = paramsOf(fields, answers);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (Object.keys(params).length > 0) onAnswered?.(sentenceOf(fields, answers), params);
  };
  return (
    <form className="stack" onSubmit={send} aria-label="What is missing">
      <h3>Still missing</h3>
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          value={answers[field.name]}
          onChanged={(value) => setAnswers((before) => ({ ...before, [field.name]: value }))}
        />
      ))}
      <Button look="primary" type="submit" disabled={onAnswered === undefined || Object.keys(params).length === 0}>
        Answer
      </Button>
    </form>
  );
}

/** The files of the packs that a session follows, by their names. */
function usePackFiles(refs: readonly string[]): Readonly<Record<string, string>> {
  const packs = useQuery({
    queryKey: ["packs", ...refs, "files"],
    queryFn: async () => {
      const all = await Promise.all(
        refs.map((ref) => answered(api.GET("/api/v1/packs/{ref}", { params: { path: { ref } } }))),
      );
      return Object.assign({}, ...all.map((pack) => pack.files)) as Readonly<Record<string, string>>;
    },
    enabled: refs.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return packs.data ?? NO_FILES;
}

const NO_FILES: Readonly<Record<string, string>> = {};
