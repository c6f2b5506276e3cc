import { useQuery } from "@tanstack/react-query";
import { FileText, X } from "lucide-react";
import { useEffect, useState } from "react";
import { ask } from "../../api/client.ts";
import type { AttachmentOut } from "../../api/schema.gen.ts";
import { IconButton } from "../../ui/button.tsx";
import { saveFile } from "../../ui/files.ts";
import { sizeOf } from "../../ui/sizes.ts";
import { useToasts } from "../../ui/toasts.tsx";
import css from "./attached.module.css";
import { artifactOptions, isPicture, type Upload } from "./uploads.ts";

const contentOf = (id: string) => `/api/v1/artifacts/${encodeURIComponent(id)}/content`;
const LARGEST_PREVIEW = 5_000_000;

/** What goes with a message: pictures drawn out of memory, everything else by name and size. */
export function Attached({ attachments }: { readonly attachments: readonly AttachmentOut[] }) {
  return (
    <ul className={css.list} aria-label="Attachments">
      {attachments.map((attachment) => (
        <li key={attachment.artifact_id}>
          <Kept attachment={attachment} />
        </li>
      ))}
    </ul>
  );
}

function Kept({ attachment }: { readonly attachment: AttachmentOut }) {
  const { complain } = useToasts();
  const id = attachment.artifact_id;
  const about = useQuery(artifactOptions(id));
  const name = about.data?.name ?? id;
  const size = about.data?.size;
  const isShown = isPicture(attachment.media_type) && size !== undefined && size <= LARGEST_PREVIEW;
  const save = () => ask(contentOf(id)).then(async (response) => saveFile(await response.blob(), name), complain);
  return (
    <button type="button" className={css.chip} onClick={() => void save()} title={`Save ${name}`}>
      {isShown ? <Picture id={id} mediaType={attachment.media_type} name={name} /> : <FileText aria-hidden />}
      <span className={css.name}>{name}</span>
      {size !== undefined && <span className="soft">{sizeOf(size)}</span>}
    </button>
  );
}

function Picture({ id, mediaType, name }: { readonly id: string; readonly mediaType: string; readonly name: string }) {
  const [address, setAddress] = useState<string>();
  const content = useQuery({
    queryKey: ["artifact", id, "content"],
    queryFn: async () => new Blob([await (await ask(contentOf(id))).arrayBuffer()], { type: mediaType }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  useEffect(() => {
    if (content.data === undefined) return;
    const made = URL.createObjectURL(content.data);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [content.data]);
  return address === undefined ? <FileText aria-hidden /> : <img src={address} alt={name} className={css.picture} />;
}

/** What is being attached to the message that is written right now. */
export function Uploads({
  uploads,
  onRemoved,
}: {
  readonly uploads: readonly Upload[];
  readonly onRemoved: (upload: Upload) => void;
}) {
  if (uploads.length === 0) return null;
  return (
    <ul className={css.list} aria-label="To be attached">
      {uploads.map((each) => (
        <li key={each.id} className={`${css.chip} ${each.problem !== null ? css.refused : ""}`}>
          {each.preview !== null ? <img src={each.preview} alt="" className={css.small} /> : <FileText aria-hidden />}
          <span className={css.name}>{each.name}</span>
          {each.size !== null && <span className="soft">{sizeOf(each.size)}</span>}
          {each.attachment === null && each.problem === null && <span className="soft">on its way …</span>}
          {each.problem !== null && <span role="alert">{each.problem}</span>}
          <IconButton label={`Take ${each.name} away`} onClick={() => onRemoved(each)}>
            <X aria-hidden />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
