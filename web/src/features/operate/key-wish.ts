/** A key as it is asked for in the form, and what the server is told of it. */
import type { KeyIn } from "../../api/schema.gen.ts";

export type Opens = "all" | "read" | "some";

export interface KeyWish {
  readonly name: string;
  readonly user: string;
  readonly role: string;
  readonly opens: Opens;
  readonly rights: readonly string[];
  readonly sessionId: string;
  /** Days from now, or "" for a key that lasts until it is revoked. */
  readonly days: string;
  readonly perSecond: string;
  readonly burst: string;
}

export const NO_WISH: KeyWish = {
  name: "",
  user: "",
  role: "",
  opens: "all",
  rights: [],
  sessionId: "",
  days: "90",
  perSecond: "",
  burst: "",
};

/** From the most to the least: nobody gives more than they have. */
const ROLES = ["owner", "admin", "member", "agent", "viewer"] as const;
type Role = (typeof ROLES)[number];

export function rolesUpTo(role: string): readonly Role[] {
  const place = ROLES.indexOf(role as Role);
  return place < 0 ? [] : ROLES.slice(place);
}

/** What is still wrong with a wish, by field; nothing, and it can be sent. */
export function faultsOf(wish: KeyWish): Partial<Record<keyof KeyWish, string>> {
  const perSecond = Number(wish.perSecond);
  const burst = Number(wish.burst);
  return {
    ...(wish.name.trim() === "" && { name: "Say what it is for, so that it can be told from others." }),
    ...(wish.opens === "some" && wish.rights.length === 0 && { rights: "Choose at least one." }),
    ...(wish.perSecond !== "" && !(perSecond > 0) && { perSecond: "A number above 0." }),
    ...(wish.burst !== "" && !(Number.isInteger(burst) && burst >= 1) && { burst: "A whole number, 1 or more." }),
    ...((wish.perSecond === "") !== (wish.burst === "") && {
      [wish.perSecond === "" ? "perSecond" : "burst"]: "Both, or neither.",
    }),
  };
}

const DAY_MS = 86_400_000;

export function keyOf(wish: KeyWish, now: number): KeyIn {
  const sessionId = wish.sessionId.trim();
  const user = wish.user.trim();
  return {
    name: wish.name.trim(),
    ...(user !== "" && { user }),
    // A key that is bound to a session is an agent's, whatever else was chosen.
    ...(wish.role !== "" && sessionId === "" && { role: wish.role as Role }),
    ...(wish.opens === "read" && { limited_to: ["*:read"] }),
    ...(wish.opens === "some" && { limited_to: [...wish.rights] }),
    ...(sessionId !== "" && { session_id: sessionId }),
    ...(wish.days !== "" && { expires_at: new Date(now + Number(wish.days) * DAY_MS).toISOString() }),
    ...(wish.perSecond !== "" && { rate: { per_second: Number(wish.perSecond), burst: Number(wish.burst) } }),
  };
}
