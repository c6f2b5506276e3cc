import { type FormEvent, useState } from "react";
import type { UnitOut } from "../../api/schema.gen.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import { useToasts } from "../../ui/toasts.tsx";
import { type UnitChange, useEdit } from "./queries.ts";
import { contentOf, ROLES, said } from "./units.ts";

interface EditUnitProps {
  readonly sessionId: string;
  readonly kept: UnitOut;
  readonly isOpen: boolean;
  readonly onEdited: (unit: UnitOut) => void;
  readonly onClosed: () => void;
}

/** Puts another unit in the place of this one, which stays readable as replaced. */
export function EditUnit({ isOpen, onClosed, ...rest }: EditUnitProps) {
  return (
    <Dialog title="Edit the unit" isOpen={isOpen} onClosed={onClosed}>
      <EditForm {...rest} onClosed={onClosed} />
    </Dialog>
  );
}

function EditForm({ sessionId, kept, onEdited, onClosed }: Omit<EditUnitProps, "isOpen">) {
  const edit = useEdit(sessionId, kept.id);
  const { tell } = useToasts();
  const [content, setContent] = useState(contentOf(kept));
  const [topic, setTopic] = useState(said(kept.unit, "topic"));
  const [role, setRole] = useState(said(kept.unit, "role"));
  const [condition, setCondition] = useState(said(kept.unit, "condition"));
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    const change = changeOf(kept, { content, topic, role, condition });
    if (Object.keys(change).length === 0) {
      onClosed();
      return;
    }
    edit.mutate(change, {
      onSuccess: (edited) => {
        tell("The unit was edited. The one before stays readable as replaced.");
        onEdited(edited);
        onClosed();
      },
    });
  };
  return (
    <form className="stack" onSubmit={onSubmit}>
      <p className="soft">The edited unit takes the place of this one, which stays readable as replaced.</p>
      <TextArea
        label={role === "Procedure" ? "Its steps" : "What it says"}
        required
        rows={4}
        value={content}
        onChange={(event) => setContent(event.target.value)}
      />
      <TextField label="Topic" required value={topic} onChange={(event) => setTopic(event.target.value)} />
      <SelectField label="Role" value={role} onChange={(event) => setRole(event.target.value)}>
        {ROLES.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </SelectField>
      <TextField
        label="Only if"
        hint="When it holds; empty for always."
        value={condition}
        onChange={(event) => setCondition(event.target.value)}
      />
      {edit.error !== null && <ProblemNotice problem={edit.error} />}
      <div className="row">
        <Button look="primary" type="submit" isBusy={edit.isPending}>
          Save
        </Button>
        <Button onClick={onClosed}>Cancel</Button>
      </div>
    </form>
  );
}

interface Edited {
  readonly content: string;
  readonly topic: string;
  readonly role: string;
  readonly condition: string;
}

/** Only what is different; a procedure has steps and no claim, every other unit a claim and no steps. */
function changeOf(kept: UnitOut, { content, topic, role, condition }: Edited): UnitChange {
  const isRoleNew = role !== said(kept.unit, "role");
  return {
    ...((content !== contentOf(kept) || isRoleNew) &&
      (role === "Procedure" ? { procedure: content, claim: null } : { claim: content, procedure: null })),
    ...(isRoleNew && { role: role as NonNullable<UnitChange["role"]> }),
    ...(topic !== said(kept.unit, "topic") && { topic }),
    ...(condition !== said(kept.unit, "condition") && { condition: condition || null }),
  };
}
