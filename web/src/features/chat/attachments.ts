/** What is attached to a message, out of what is known of an artifact. */
import type { ArtifactOut, AttachmentOut } from "../../api/schema.gen.ts";

export function attachmentOf({ id, media_type, sha256, uri }: ArtifactOut): AttachmentOut {
  return { artifact_id: id, media_type, sha256, uri };
}
