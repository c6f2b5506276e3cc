import { useEffect } from "react";

const HOUSE = "turnkeeper";

/** What the browser calls this page, in its tabs and its history; once it is left, nothing tells of it there. */
export function usePageTitle(name: string): void {
  useEffect(() => {
    document.title = `${name} · ${HOUSE}`;
    return () => {
      document.title = HOUSE;
    };
  }, [name]);
}
