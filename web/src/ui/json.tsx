/** Any value of the API as text: inert, indented, and never larger than its box. */
export function Json({ value }: { readonly value: unknown }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard.
  return <pre tabIndex={0}>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>;
}
