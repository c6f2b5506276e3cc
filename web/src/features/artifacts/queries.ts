/** What the page asks the server for: artifacts, manifests and pointers. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { answered, api, ask } from "../../api/client.ts";

const PAGE = 200;
const SHOWN = 50;
/** What is kept under its hash never changes. */
const FOR_EVER = { staleTime: Number.POSITIVE_INFINITY, retry: false } as const;

export function useArtifact(id: string) {
  return useQuery({
    queryKey: ["artifacts", id],
    queryFn: () => answered(api.GET("/api/v1/artifacts/{artifact_id}", { params: { path: { artifact_id: id } } })),
    ...FOR_EVER,
  });
}

/** Newest first: those that one keeps, or all of the tenant for its owner and admins. */
export function useArtifacts() {
  return useInfiniteQuery({
    queryKey: ["artifacts"],
    queryFn: ({ pageParam }) =>
      answered(
        api.GET("/api/v1/artifacts", {
          params: { query: { limit: SHOWN, ...(pageParam !== "" && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

/** The content as a Blob: it is never opened, only read as text or drawn as a picture. */
export function useContent(id: string, isWanted: boolean) {
  return useQuery({
    queryKey: ["artifacts", id, "content"],
    queryFn: () => contentOf(id),
    enabled: isWanted,
    gcTime: 60_000,
    ...FOR_EVER,
  });
}

export async function contentOf(id: string): Promise<Blob> {
  return (await ask(`/api/v1/artifacts/${encodeURIComponent(id)}/content`)).blob();
}

export function useManifest(sha256: string) {
  return useQuery({
    queryKey: ["manifests", sha256],
    queryFn: () => answered(api.GET("/api/v1/manifests/{sha256}", { params: { path: { sha256 } } })),
    ...FOR_EVER,
  });
}

export function useEntries(sha256: string) {
  return useInfiniteQuery({
    queryKey: ["manifests", sha256, "entries"],
    queryFn: ({ pageParam }) =>
      answered(
        api.GET("/api/v1/manifests/{sha256}/entries", {
          params: { path: { sha256 }, query: { limit: PAGE, ...(pageParam !== "" && { cursor: Number(pageParam) }) } },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    ...FOR_EVER,
  });
}

export function useManifestHistory(sha256: string) {
  return useQuery({
    queryKey: ["manifests", sha256, "history"],
    queryFn: () => answered(api.GET("/api/v1/manifests/{sha256}/history", { params: { path: { sha256 } } })),
    ...FOR_EVER,
  });
}

export function useDiff(sha256: string, against: string) {
  return useQuery({
    queryKey: ["manifests", sha256, "diff", against],
    queryFn: () =>
      answered(api.GET("/api/v1/manifests/{sha256}/diff", { params: { path: { sha256 }, query: { against } } })),
    ...FOR_EVER,
  });
}

export function usePointers(namespace: string) {
  return useInfiniteQuery({
    queryKey: ["pointers", "pages", namespace],
    queryFn: ({ pageParam }) =>
      answered(
        api.GET("/api/v1/pointers", {
          params: {
            query: {
              limit: PAGE,
              ...(namespace !== "" && { namespace }),
              ...(pageParam !== "" && { cursor: pageParam }),
            },
          },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

export function usePointer(id: string) {
  return useQuery({
    queryKey: ["pointers", id],
    queryFn: () => answered(api.GET("/api/v1/pointers/{pointer_id}", { params: { path: { pointer_id: id } } })),
  });
}

export function usePointerHistory(id: string) {
  return useQuery({
    queryKey: ["pointers", id, "history"],
    queryFn: () =>
      answered(
        api.GET("/api/v1/pointers/{pointer_id}/history", {
          params: { path: { pointer_id: id }, query: { limit: PAGE } },
        }),
      ),
  });
}
