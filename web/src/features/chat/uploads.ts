/** Keeps files on the server so that they can go with a message. */
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { answered, api, ask, Problem } from "../../api/client.ts";
import type { ArtifactOut, AttachmentOut } from "../../api/schema.gen.ts";

/** With the message that is written now, with one that was put aside for it, or with one that is being sent. */
type Where = "here" | "aside" | "sent";

/** A file on its way to the server, there, or refused. */
export interface Upload {
  readonly id: number;
  readonly name: string;
  readonly size: number | null;
  /** What the browser shows of an image, without asking anybody. */
  readonly preview: string | null;
  /** Null until the server has it. */
  readonly attachment: AttachmentOut | null;
  readonly problem: string | null;
  readonly where: Where;
}

let lastId = 0;

/** What is known of an artifact: that never changes. */
export function artifactOptions(id: string) {
  return queryOptions({
    queryKey: ["artifact", id],
    queryFn: () => answered(api.GET("/api/v1/artifacts/{artifact_id}", { params: { path: { artifact_id: id } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useUploads() {
  const queries = useQueryClient();
  const [all, setAll] = useState<readonly Upload[]>([]);
  const shown = useRef<readonly Upload[]>([]);
  shown.current = all;
  useEffect(() => () => forget(shown.current), []);
  const begin = useCallback((of: Omit<Upload, "id" | "problem" | "where">, told: Promise<Partial<Upload>>) => {
    lastId += 1;
    const id = lastId;
    const change = (to: Partial<Upload>) =>
      setAll((before) => before.map((each) => (each.id === id ? { ...each, ...to } : each)));
    setAll((before) => [...before, { ...of, id, problem: null, where: "here" }]);
    told.then(change, (error: unknown) => change({ problem: of.attachment === null ? whyNot(error) : null }));
  }, []);
  const add = useCallback(
    (files: readonly File[]) => {
      for (const file of files) {
        const preview = isPicture(file.type) ? URL.createObjectURL(file) : null;
        const told = upload(file).then((artifact) => ({ attachment: attachmentOf(artifact) }));
        begin({ name: file.name, size: file.size, preview, attachment: null }, told);
      }
    },
    [begin],
  );
  /** What the server has already goes with this message as well. */
  const addKept = useCallback(
    (attachments: readonly AttachmentOut[]) => {
      for (const attachment of attachments) {
        const id = attachment.artifact_id;
        const told = queries.fetchQuery(artifactOptions(id)).then(({ name, size }) => ({ name: name ?? id, size }));
        begin({ name: id, size: null, preview: null, attachment }, told);
      }
    },
    [begin, queries],
  );
  const remove = useCallback((gone: readonly Upload[]) => {
    forget(gone);
    setAll((before) => before.filter((each) => gone.every(({ id }) => id !== each.id)));
  }, []);
  const move = useCallback((from: Where, to: Where, only?: readonly Upload[]) => {
    const isMeant = (each: Upload) => each.where === from && (only?.some(({ id }) => id === each.id) ?? true);
    setAll((before) => before.map((each) => (isMeant(each) ? { ...each, where: to } : each)));
  }, []);
  return { uploads: all.filter(({ where }) => where === "here"), add, addKept, remove, move };
}

async function upload(file: File): Promise<ArtifactOut> {
  const response = await ask(`/api/v1/artifacts?name=${encodeURIComponent(file.name.slice(0, 255))}`, {
    method: "POST",
    headers: { "Content-Type": file.type === "" ? "application/octet-stream" : file.type },
    body: file,
  });
  return (await response.json()) as ArtifactOut;
}

function attachmentOf({ id, media_type, sha256, uri }: ArtifactOut): AttachmentOut {
  return { artifact_id: id, media_type, sha256, uri };
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
