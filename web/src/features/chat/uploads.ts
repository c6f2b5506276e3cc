/** Keeps files on the server so that they can go with a message. */
import { useCallback, useEffect, useRef, useState } from "react";
import { ask, Problem } from "../../api/client.ts";
import type { ArtifactOut } from "../../api/schema.gen.ts";

/** A file on its way to the server, there, or refused. */
export interface Upload {
  readonly id: number;
  readonly file: File;
  /** What the browser shows of an image, without asking anybody. */
  readonly preview: string | null;
  readonly artifact: ArtifactOut | null;
  readonly problem: string | null;
}

let lastId = 0;

export function useUploads() {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const shown = useRef<readonly Upload[]>([]);
  shown.current = uploads;
  useEffect(() => () => forget(shown.current), []);
  const change = useCallback((id: number, to: Partial<Upload>) => {
    setUploads((before) => before.map((each) => (each.id === id ? { ...each, ...to } : each)));
  }, []);
  const add = useCallback(
    (files: readonly File[]) => {
      for (const file of files) {
        lastId += 1;
        const id = lastId;
        const preview = isPicture(file.type) ? URL.createObjectURL(file) : null;
        setUploads((before) => [...before, { id, file, preview, artifact: null, problem: null }]);
        upload(file).then(
          (artifact) => change(id, { artifact }),
          (error: unknown) => change(id, { problem: whyNot(error) }),
        );
      }
    },
    [change],
  );
  const remove = useCallback((id: number) => {
    setUploads((before) => {
      forget(before.filter((each) => each.id === id));
      return before.filter((each) => each.id !== id);
    });
  }, []);
  const clear = useCallback(() => {
    setUploads((before) => {
      forget(before);
      return [];
    });
  }, []);
  return { uploads, add, remove, clear };
}

async function upload(file: File): Promise<ArtifactOut> {
  const response = await ask(`/api/v1/artifacts?name=${encodeURIComponent(file.name.slice(0, 255))}`, {
    method: "POST",
    headers: { "Content-Type": file.type === "" ? "application/octet-stream" : file.type },
    body: file,
  });
  return (await response.json()) as ArtifactOut;
}

function whyNot(error: unknown): string {
  return error instanceof Problem ? error.message : "It did not get to the server. Take it away and attach it again.";
}

function forget(uploads: readonly Upload[]): void {
  for (const { preview } of uploads) if (preview !== null) URL.revokeObjectURL(preview);
}

/** Whether the browser may draw it: nothing that could hold a script of its own. */
export function isPicture(mediaType: string): boolean {
  return /^image\/(png|jpeg|gif|webp|avif)$/.test(mediaType);
}

/** A size as people say it: 12 KB. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(bytes < 10_000 ? 1 : 0)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
