import { useSyncExternalStore } from "react";

/** Whether the screen is as narrow as a phone: what stands side by side elsewhere takes turns here. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow.matches);
}

const narrow = window.matchMedia("(max-width: 800px)");

function subscribe(listener: () => void): () => void {
  narrow.addEventListener("change", listener);
  return () => narrow.removeEventListener("change", listener);
}
