/** Whether anybody can see the page: a browser lets one house have few lines, and a hidden tab must not hold one. */

/** The document, as far as it matters here. */
export interface Sight extends EventTarget {
  readonly hidden: boolean;
}

/** Waits until the page can be seen, or until nobody waits any more. */
export function untilSeen(page: Sight, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (page.hidden && !signal.aborted) return;
      page.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    page.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}

/** Calls `listener` when the page goes out of sight; returns how to stop that. */
export function whenHidden(page: Sight, listener: () => void): () => void {
  const look = () => {
    if (page.hidden) listener();
  };
  page.addEventListener("visibilitychange", look);
  return () => page.removeEventListener("visibilitychange", look);
}
