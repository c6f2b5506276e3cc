import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from "react";
import { useId } from "react";
import css from "./field.module.css";

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  /** For a field whose meaning is plain from where it stands; it is read out all the same. */
  readonly isLabelUnseen?: boolean;
}

type Described = { readonly id: string; readonly "aria-describedby"?: string; readonly "aria-invalid"?: true };

function Labelled({
  label,
  hint,
  error,
  isLabelUnseen,
  children,
}: FieldProps & { readonly children: (given: Described) => ReactNode }) {
  const id = useId();
  const below = `${id}-below`;
  const hasBelow = hint !== undefined || error !== undefined;
  return (
    <div className={css.field}>
      <label htmlFor={id} className={isLabelUnseen === true ? "unseen" : css.label}>
        {label}
      </label>
      {children({
        id,
        ...(hasBelow && { "aria-describedby": below }),
        ...(error !== undefined && { "aria-invalid": true }),
      })}
      {hasBelow && (
        <div id={below} className={error === undefined ? css.hint : css.error}>
          {error ?? hint}
        </div>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  error,
  isLabelUnseen,
  ...input
}: FieldProps & InputHTMLAttributes<HTMLInputElement>) {
  const told: FieldProps = { label, hint, error, ...(isLabelUnseen !== undefined && { isLabelUnseen }) };
  return <Labelled {...told}>{(given) => <input {...input} {...given} className={css.input} />}</Labelled>;
}

export function TextArea({
  label,
  hint,
  error,
  isLabelUnseen,
  ...input
}: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const told: FieldProps = { label, hint, error, ...(isLabelUnseen !== undefined && { isLabelUnseen }) };
  return <Labelled {...told}>{(given) => <textarea {...input} {...given} className={css.input} />}</Labelled>;
}

export function SelectField({
  label,
  hint,
  error,
  isLabelUnseen,
  children,
  ...input
}: FieldProps & SelectHTMLAttributes<HTMLSelectElement>) {
  const told: FieldProps = { label, hint, error, ...(isLabelUnseen !== undefined && { isLabelUnseen }) };
  return (
    <Labelled {...told}>
      {(given) => (
        <select {...input} {...given} className={css.input}>
          {children}
        </select>
      )}
    </Labelled>
  );
}
