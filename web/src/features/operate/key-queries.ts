/** Keys in the query cache: those that programs hold, and the logins of browsers. */
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answered, api, ask } from "../../api/client.ts";
import type { KeyIn, KeyKind } from "../../api/schema.gen.ts";
import { useToasts } from "../../ui/toasts.tsx";

const KEYS = ["keys"] as const;

export function useKeys(kind: KeyKind) {
  return useInfiniteQuery({
    queryKey: [...KEYS, kind],
    queryFn: ({ pageParam, signal }) =>
      answered(
        api.GET("/api/v1/keys", {
          params: { query: { kind, limit: 100, ...(pageParam !== "" && { cursor: pageParam }) } },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

export function useKeyChanges() {
  const queries = useQueryClient();
  const { tell, complain } = useToasts();
  const onSuccess = () => void queries.invalidateQueries({ queryKey: KEYS });
  return {
    // What is wrong with it is said beside the form.
    make: useMutation({
      mutationFn: (wanted: KeyIn) => answered(api.POST("/api/v1/keys", { body: wanted })),
      // The token is told once: nothing of it stays behind when the page that shows it is left.
      gcTime: 0,
      onSuccess,
    }),
    revoke: useMutation({
      mutationFn: (keyId: string) =>
        answered(api.POST("/api/v1/keys/{key_id}/revoke", { params: { path: { key_id: keyId } } })),
      onSuccess: (key) => {
        tell(`Revoked: ${key.name} opens nothing from now on.`);
        onSuccess();
      },
      onError: complain,
    }),
  };
}

/** Every right that a route of this server asks for, as its own description tells them. */
export function useRightsAsked(isWanted: boolean) {
  return useQuery({
    queryKey: ["rights-asked"],
    queryFn: async ({ signal }) => rightsIn(await (await ask("/openapi.json", { signal })).json()),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: isWanted,
  });
}

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly "x-asks"?: readonly string[] }>>>>;
}

function rightsIn({ paths }: Described): readonly string[] {
  const asked = Object.values(paths).flatMap((path) => Object.values(path).flatMap((route) => route["x-asks"] ?? []));
  return [...new Set(asked)].sort();
}
