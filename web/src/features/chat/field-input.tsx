import { SelectField, TextArea, TextField } from "../../ui/field.tsx";
import type { Field } from "./intent-form.ts";
import css from "./intent-panel.module.css";

interface FieldInputProps {
  readonly field: Field;
  readonly value: string | readonly string[] | undefined;
  readonly onChanged: (value: string | readonly string[]) => void;
}

/** One field of a form, as the browser asks best for its kind. */
export function FieldInput({ field, value, onChanged }: FieldInputProps) {
  const text = typeof value === "string" ? value : "";
  const about = { label: field.title, ...(field.hint !== null && { hint: field.hint }) };
  if (field.kind === "choices") return <Choices field={field} value={value} onChanged={onChanged} />;
  if (field.kind === "choice" || field.kind === "yes-no") {
    const options = field.kind === "choice" ? field.options : YES_NO;
    return (
      <SelectField {...about} value={text} onChange={(event) => onChanged(event.target.value)}>
        <option value="">Choose …</option>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </SelectField>
    );
  }
  const { step: _step, min: _min, max: _max, ...lengths } = field.limits;
  if (field.kind === "long")
    return (
      <TextArea {...about} {...lengths} rows={3} value={text} onChange={(event) => onChanged(event.target.value)} />
    );
  return (
    <TextField
      {...about}
      {...field.limits}
      type={field.input}
      value={text}
      onChange={(event) => onChanged(event.target.value)}
    />
  );
}

const YES_NO = [
  { value: "yes", label: "Yes" },
  { value: "no", label: "No" },
] as const;

function Choices({ field, value, onChanged }: FieldInputProps) {
  const chosen = typeof value === "string" || value === undefined ? [] : value;
  const toggle = (option: string) =>
    onChanged(chosen.includes(option) ? chosen.filter((each) => each !== option) : [...chosen, option]);
  return (
    <fieldset className={css.choices}>
      <legend>{field.title}</legend>
      {field.hint !== null && <span className="soft">{field.hint}</span>}
      {field.options.map((option) => (
        <label key={option.value}>
          <input type="checkbox" checked={chosen.includes(option.value)} onChange={() => toggle(option.value)} />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}
