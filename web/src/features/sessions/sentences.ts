/** What happened to a session, as one says it. */
import type { SessionEventOut } from "../../api/schema.gen.ts";

const SENTENCES: Readonly<Record<string, string>> = {
  started: "The session began",
  paused: "It was paused",
  resumed: "It was resumed",
  closed: "It was closed",
  expired: "It expired: nobody said anything for too long",
  renamed: "It was renamed",
  archived: "Its content was archived",
  pruned: "Old content was pruned",
  mounts_changed: "What it may use was changed",
  module_changed: "It was moved to another module",
  changed: "Its settings were changed",
  rebased: "What it inherits was brought up to date",
};

const REASONS = ["reason", "closed_reason", "pause_reason"] as const;

export function sentenceOf(event: SessionEventOut): string {
  if (event.what === "started" && typeof event.data.fork_of === "string") return "It was forked from another session";
  if (event.what === "started" && typeof event.data.from_session_id === "string")
    return "It began as the continuation of another session";
  const said = SENTENCES[event.what] ?? `Changed: ${event.what.replaceAll("_", " ")}`;
  const reason = REASONS.map((name) => event.data[name]).find((value) => typeof value === "string");
  return reason === undefined ? said : `${said} (${String(reason)})`;
}
