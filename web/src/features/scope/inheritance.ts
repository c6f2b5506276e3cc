/** What a session inherited, from where, and what a rebase would bring. */
import type { LayerOut, SessionOut } from "../../api/schema.gen.ts";

export interface Given {
  readonly name: string;
  readonly value: string;
  /** The level that gave it; undefined for what holds unless somebody says otherwise. */
  readonly level: string | undefined;
}

type Inherited = Pick<
  SessionOut,
  | "policy"
  | "model_profile"
  | "limits"
  | "provenance"
  | "idle_for_seconds"
  | "needs_isolation"
  | "mounts"
  | "context_chain"
>;

const LIMITS: Readonly<Record<string, string>> = {
  max_steps: "Calls of tools and models",
  timeout_seconds: "Seconds for a turn",
  tokens: "Tokens for a turn",
  tool_calls: "Calls of tools",
  cost_cents: "Cents for a turn",
};

/** Policy, model and limits, each with the level that gave it. */
export function givenTo(session: Inherited): readonly Given[] {
  const level = (name: string) => session.provenance[name];
  return [
    { name: "Policy", value: session.policy.replaceAll("_", " "), level: level("policy") },
    { name: "Model", value: session.model_profile ?? "whatever the agent uses", level: level("model_profile") },
    ...Object.entries(session.limits).map(([name, value]) => ({
      name: LIMITS[name] ?? name.replaceAll("_", " "),
      value: String(value),
      level: level(`limits.${name}`),
    })),
    {
      name: "Idle time until it expires",
      value: hoursOf(session.idle_for_seconds),
      level: level("idle_for_seconds"),
    },
    ...(session.needs_isolation ? [{ name: "Isolation", value: "needed", level: level("needs_isolation") }] : []),
  ];
}

function hoursOf(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  if (hours === 0) return minutes === 0 ? `${seconds} s` : `${minutes} min`;
  return minutes === 0 ? `${hours} h` : `${hours} h ${minutes} min`;
}

/** What people call a resource, with its kind. */
type NameOf = (kind: string, id: string) => string;
const bare: NameOf = (kind, id) => `${kind.replaceAll("_", " ")} ${id}`;

/** What the layers say by now and the session does not have yet, in words; empty when a rebase changes nothing. */
export function newsOf(session: Inherited, layers: readonly LayerOut[], nameOf: NameOf = bare): readonly string[] {
  return layers.flatMap((layer) => {
    const link = session.context_chain.find(({ level, id }) => level === layer.level && id === layer.id);
    if (link === undefined || link.revision === layer.revision) return [];
    const name = `${layer.level} “${layer.name}”`;
    const mounts = layer.terms.mounts
      .filter((mount) => !session.mounts.some(({ kind, id }) => kind === mount.kind && id === mount.id))
      .map((mount) => `The ${name} now mounts the ${nameOf(mount.kind ?? "", mount.id ?? "")}.`);
    const gone = session.mounts
      .filter(({ source }) => source === layer.level)
      .filter(({ kind, id }) => !layer.terms.mounts.some((mount) => mount.kind === kind && mount.id === id))
      .map((mount) => `The ${name} no longer mounts the ${nameOf(mount.kind, mount.id)}.`);
    const limits = Object.entries(layer.terms.limits)
      .filter(([limit, value]) => session.limits[limit] !== value)
      .map(([limit, value]) => `The ${name} now limits ${limit.replaceAll("_", " ")} to ${value}.`);
    const said = [...mounts, ...gone, ...limits];
    return said.length > 0
      ? said
      : [`The ${name} has changed (revision ${link.revision} then, ${layer.revision} now).`];
  });
}

/** What a rebase did change, for those who have just done it. */
export function changesBetween(before: Inherited, after: Inherited, nameOf: NameOf = bare): readonly string[] {
  const keyOf = ({ kind, id }: Inherited["mounts"][number]) => nameOf(kind, id);
  const had = new Set(before.mounts.map(keyOf));
  const has = new Set(after.mounts.map(keyOf));
  const then = new Map(givenTo(before).map((given) => [given.name, given.value]));
  return [
    ...[...has].filter((key) => !had.has(key)).map((key) => `${key} is mounted`),
    ...[...had].filter((key) => !has.has(key)).map((key) => `${key} is no longer mounted`),
    ...givenTo(after)
      .filter(({ name, value }) => then.get(name) !== value)
      .map(({ name, value }) => `${name}: ${value}`),
  ];
}
