import css from "./operate.module.css";

/** Who it was, in one line: beside long texts a name would be broken letter by letter. */
export function Name({ of }: { readonly of: string }) {
  return (
    <span className={`one-line ${css.name}`} title={of}>
      {of}
    </span>
  );
}
