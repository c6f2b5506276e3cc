import { useEffect, useRef, useState } from "react";
import type { MessageOut } from "../../api/schema.gen.ts";

const LONGEST = 600;

/** Reads a new answer out once it is complete, to those who listen to the page. */
export function Announcer({ messages }: { readonly messages: readonly MessageOut[] }) {
  const newest = messages.at(-1);
  const heard = useRef(newest?.seq ?? 0);
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (newest === undefined || newest.seq <= heard.current) return;
    heard.current = newest.seq;
    if (newest.role === "assistant") setSaid(newest.content.slice(0, LONGEST));
  }, [newest]);
  return (
    <div className="unseen" aria-live="polite">
      {said}
    </div>
  );
}
