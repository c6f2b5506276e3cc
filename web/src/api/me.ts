/** Who looks at this console: a cookie that scripts cannot read, made once from a token. */
import { useQuery } from "@tanstack/react-query";
import { answered, api, Problem } from "./client.ts";
import { greet, ME, tellOtherTabs } from "./door.ts";
import type { MeOut } from "./schema.gen.ts";

/** Null: nobody is logged in here. */
export function useMe() {
  return useQuery({ queryKey: ME, queryFn: me, staleTime: Number.POSITIVE_INFINITY, retry: false });
}

/** Whether this caller has a right such as `audit:manage`. */
export function may(who: MeOut | null | undefined, right: string): boolean {
  if (who == null) return false;
  const [area, kind] = right.split(":") as [string, string];
  const names = [right, `*:${kind}`, `${area}:*`, "*:*"];
  return who.rights.includes(kind) && (who.limited_to?.some((name) => names.includes(name)) ?? true);
}

export async function logIn(token: string): Promise<MeOut> {
  const who = await answered(api.POST("/api/v1/login", { body: { token } }));
  tellOtherTabs();
  return who;
}

export async function logOut(): Promise<void> {
  await api.DELETE("/api/v1/login");
  sessionStorage.clear();
  tellOtherTabs();
}

/** Takes the token out of `#token=...`, where servers never see it, and forgets it at once. */
export function takeTokenFromAddress(): string | null {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found !== null) history.replaceState(history.state, "", location.pathname + location.search);
  return found;
}

async function me(): Promise<MeOut | null> {
  const token = takeTokenFromAddress();
  const who = token === null ? await whoIsHere() : await logIn(token);
  greet(who);
  return who;
}

/** Whom the cookie of this browser stands for now. */
export async function whoIsHere(): Promise<MeOut | null> {
  try {
    return await answered(api.GET("/api/v1/me"));
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return null;
    throw error;
  }
}
