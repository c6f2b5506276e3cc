/** The end of an id tells nodes apart; all of it is on hover. */
export function NodeName({ id }: { readonly id: string | undefined }) {
  return id === undefined ? (
    <span className="soft">none</span>
  ) : (
    <span className="mono" title={id}>
      …{id.slice(-6)}
    </span>
  );
}
