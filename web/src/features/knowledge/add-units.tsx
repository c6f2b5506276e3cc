import { type FormEvent, useRef, useState } from "react";
import { Problem } from "../../api/client.ts";
import type { UnitChangesOut } from "../../api/schema.gen.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import { useToasts } from "../../ui/toasts.tsx";
import { type Fault, faultsOf, startOfLine } from "./faults.ts";
import css from "./knowledge.module.css";
import { useImport } from "./queries.ts";

interface AddUnitsProps {
  readonly sessionId: string;
  readonly isOpen: boolean;
  readonly onClosed: () => void;
}

/** Reads units out of a text; a text with a fault changes nothing, and each fault says where it is. */
export function AddUnits({ sessionId, isOpen, onClosed }: AddUnitsProps) {
  return (
    <Dialog title="Add units" isOpen={isOpen} onClosed={onClosed} isWide>
      <AddForm sessionId={sessionId} onClosed={onClosed} />
    </Dialog>
  );
}

const EXAMPLES = {
  text: "The depot is in Narva. Dogs must be on a leash.",
  units:
    '@k1 ku atomic "rule-1"\n@k2 set $k1 sourceId handbook\n@k3 set $k1 chunkId handbook\n@k4 set $k1 role Constraint\n@k5 set $k1 topic dogs\n@k6 set $k1 claim "Dogs must be on a leash."',
};

function AddForm({ sessionId, onClosed }: Omit<AddUnitsProps, "isOpen">) {
  const add = useImport(sessionId);
  const { tell } = useToasts();
  const form = useRef<HTMLFormElement>(null);
  const [format, setFormat] = useState<"text" | "units">("text");
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const faults = add.error instanceof Problem ? faultsOf(add.error.facts.details) : [];
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate(
      { text, format, ...(name !== "" && { name }) },
      {
        onSuccess: (changes) => {
          tell(wordsOf(changes));
          onClosed();
        },
      },
    );
  };
  const goTo = ({ line, column }: Fault) => {
    const area = form.current?.querySelector("textarea");
    const at = startOfLine(text, line) + column - 1;
    area?.focus();
    area?.setSelectionRange(at, at);
  };
  return (
    <form ref={form} className="stack" onSubmit={onSubmit}>
      <SelectField
        label="Written as"
        value={format}
        onChange={(event) => setFormat(event.target.value === "units" ? "units" : "text")}
      >
        <option value="text">plain sentences</option>
        <option value="units">units in their text form</option>
      </SelectField>
      <TextArea
        label="Text"
        required
        rows={10}
        spellCheck={format === "text"}
        placeholder={EXAMPLES[format]}
        value={text}
        error={
          faults.length > 0
            ? `${faults.length} ${faults.length === 1 ? "fault" : "faults"}; nothing was taken.`
            : undefined
        }
        onChange={(event) => setText(event.target.value)}
      />
      {faults.length > 0 && (
        <ul className={css.faults} role="alert">
          {faults.map((fault) => (
            <li key={`${fault.line} ${fault.column} ${fault.message}`}>
              <button type="button" className={css.goTo} onClick={() => goTo(fault)}>
                Line {fault.line}, column {fault.column}
              </button>
              : {fault.message}
            </li>
          ))}
        </ul>
      )}
      <TextField
        label="Name of the source"
        hint="What the text is called; may stay empty."
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      {add.error !== null && faults.length === 0 && <ProblemNotice problem={add.error} />}
      <div className="row">
        <Button look="primary" type="submit" isBusy={add.isPending}>
          Add
        </Button>
        <Button onClick={onClosed}>Cancel</Button>
      </div>
    </form>
  );
}

function wordsOf({ added, superseded, pushed_out, dropped }: UnitChangesOut): string {
  const parts = [
    `${added.length} added`,
    ...(superseded.length > 0 ? [`${superseded.length} replaced`] : []),
    ...(pushed_out.length > 0 ? [`${pushed_out.length} gave way`] : []),
    ...(dropped.length > 0 ? [`${dropped.length} not kept, as they were known or too many`] : []),
  ];
  return `${parts.join(", ")}.`;
}
