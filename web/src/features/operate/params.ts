import { useSearchParams } from "react-router";

/** What is chosen in a view, kept in the address; what is as usual is left out of it. */
export function useChoices(): readonly [(name: string) => string, (changes: Readonly<Record<string, string>>) => void] {
  const [params, setParams] = useSearchParams();
  const choose = (changes: Readonly<Record<string, string>>) => {
    // Of two choices in a row the second must not undo the first, which may be in the address and not yet in `params`.
    const next = new URLSearchParams(window.location.search);
    for (const [name, value] of Object.entries(changes)) {
      if (value === "") next.delete(name);
      else next.set(name, value);
    }
    setParams(next, { replace: true, preventScrollReset: true });
  };
  return [(name) => params.get(name) ?? "", choose];
}
