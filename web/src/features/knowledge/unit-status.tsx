import { Badge, type Tone } from "../../ui/badge.tsx";
import { statusWords } from "./units.ts";

const TONES: Readonly<Record<string, Tone>> = { committed: "good", superseded: "info", pushed_out: "warn" };

export function UnitStatus({ of }: { readonly of: string }) {
  return <Badge tone={TONES[of] ?? "neutral"}>{statusWords(of)}</Badge>;
}
