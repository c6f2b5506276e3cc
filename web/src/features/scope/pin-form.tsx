import { type FormEvent, useState } from "react";
import type { MountsIn } from "../../api/schema.gen.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { useBases, usePointers } from "./queries.ts";
import css from "./scope.module.css";

type Pin = NonNullable<MountsIn["pin"]>[number];
type Mode = "follow" | "fixed";
const KINDS = { pointer: "pointer", knowledge_base: "knowledge base", artifact: "artifact" } as const;
type Kind = keyof typeof KINDS;

/** Chooses what to mount, and for a pointer whether it is followed or fixed to where it stands. */
export function PinForm({ isBusy, onPinned }: { readonly isBusy: boolean; readonly onPinned: (pin: Pin) => void }) {
  const pointers = usePointers();
  const bases = useBases();
  const [kind, setKind] = useState<Kind>("pointer");
  const [id, setId] = useState("");
  const [mode, setMode] = useState<Mode>("follow");
  const choices =
    kind === "pointer"
      ? (pointers.data?.items ?? []).map((each) => ({ id: each.id, name: `${each.namespace}/${each.name}` }))
      : (bases.data?.items ?? []).map((each) => ({ id: each.id, name: each.name }));
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    onPinned({ kind, id, mode });
    setId("");
  };
  return (
    <form className={css.pin} onSubmit={onSubmit}>
      <SelectField
        label="Pin a"
        value={kind}
        onChange={(event) => {
          setKind(event.target.value as Kind);
          setId("");
        }}
      >
        {Object.entries(KINDS).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </SelectField>
      {kind === "artifact" ? (
        <TextField label="Its hash or id" required value={id} onChange={(event) => setId(event.target.value.trim())} />
      ) : (
        <SelectField label="Which one" required value={id} onChange={(event) => setId(event.target.value)}>
          <option value="">choose one</option>
          {choices.map((choice) => (
            <option key={choice.id} value={choice.id}>
              {choice.name}
            </option>
          ))}
        </SelectField>
      )}
      {kind === "pointer" && (
        <SelectField label="How" value={mode} onChange={(event) => setMode(event.target.value as Mode)}>
          <option value="follow">follow it where it goes</option>
          <option value="fixed">fix it to where it stands now</option>
        </SelectField>
      )}
      <Button type="submit" look="primary" isBusy={isBusy}>
        Pin
      </Button>
    </form>
  );
}
