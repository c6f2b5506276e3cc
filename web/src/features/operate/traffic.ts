/** The counts of a node, as charts and sentences need them. */
import type { EnvelopeCountOut, LatencyOut, TrafficOut } from "../../api/schema.gen.ts";
import { millisecondsOf, numberOf, type Place } from "./charts/series.ts";

const ACCEPTED = "accepted";

export interface LetIn {
  readonly accepted: number;
  readonly refused: number;
  readonly byChannel: readonly Place[];
  readonly byReason: ReadonlyArray<{ readonly reason: string; readonly count: number }>;
}

export function letIn(envelopes: readonly EnvelopeCountOut[]): LetIn {
  const channels = new Map<string, { accepted: number; refused: number }>();
  const reasons = new Map<string, number>();
  for (const { outcome, reason, channel, count } of envelopes) {
    const told = channels.get(channel) ?? { accepted: 0, refused: 0 };
    channels.set(channel, told);
    if (outcome === ACCEPTED) told.accepted += count;
    else {
      told.refused += count;
      reasons.set(reason, (reasons.get(reason) ?? 0) + count);
    }
  }
  const sum = (which: "accepted" | "refused") => [...channels.values()].reduce((all, told) => all + told[which], 0);
  return {
    accepted: sum("accepted"),
    refused: sum("refused"),
    byChannel: [...channels]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([channel, values]) => ({ key: channel, name: channel, fullName: channel, values })),
    byReason: [...reasons]
      .map(([reason, count]) => ({ reason, count }))
      .sort((one, other) => other.count - one.count || one.reason.localeCompare(other.reason)),
  };
}

/** The buckets of a histogram, without the empty ones before the first and behind the last. */
export function bucketsOf({ buckets }: LatencyOut): readonly Place[] {
  const first = buckets.findIndex(({ count }) => count > 0);
  const last = buckets.findLastIndex(({ count }) => count > 0);
  return buckets.slice(Math.max(0, first - 1), last + 2).map(({ up_to_ms, count }, place, shown) => {
    const bound = up_to_ms ?? shown[place - 1]?.up_to_ms ?? null;
    const name = up_to_ms === null ? `over ${millisecondsOf(bound)}` : `≤ ${millisecondsOf(bound)}`;
    return { key: String(up_to_ms), name, fullName: name, values: { count } };
  });
}

export function saysHowFast({ count, p50_ms, p99_ms }: LatencyOut): string {
  if (count === 0) return "Nothing has been accepted since this node began, so there is nothing to measure.";
  return (
    `Of ${numberOf(count)} messages, half were accepted within ${millisecondsOf(p50_ms)}` +
    ` and 99 of 100 within ${millisecondsOf(p99_ms)}.`
  );
}

export function saysWhoIsLetIn({ accepted, refused, byReason }: LetIn): string {
  const all = accepted + refused;
  if (all === 0) return "Nobody has come since this node began.";
  if (refused === 0) return `All ${numberOf(all)} messages were let in.`;
  const most = byReason[0];
  const part = ((refused / all) * 100).toFixed(refused / all < 0.1 ? 1 : 0);
  return (
    `${numberOf(accepted)} of ${numberOf(all)} messages were let in and ${numberOf(refused)} refused (${part} %)` +
    `${most === undefined ? "" : `, most of them for ${most.reason}`}.`
  );
}

const BUS: Readonly<Record<string, string>> = {
  open: "Connected now",
  connections: "Connections since the beginning",
  refused: "Connections refused",
  sent_away: "Sent away",
  frames_in: "Frames in",
  frames_out: "Frames out",
  frames_rejected: "Frames rejected",
};

export function busFacts(bus: NonNullable<TrafficOut["process"]["bus"]>): ReadonlyArray<readonly [string, string]> {
  return Object.entries(bus).map(([name, count]) => [BUS[name] ?? name.replaceAll("_", " "), numberOf(count)]);
}
