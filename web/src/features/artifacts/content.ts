/** Telling what can be shown of an artifact without ever running it. */

export type Look = "text" | "json" | "image" | "none";

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);
const TEXTS = new Set([
  "application/xml",
  "application/javascript",
  "application/x-yaml",
  "application/yaml",
  "application/toml",
  "application/sql",
  "application/x-sh",
  "image/svg+xml",
]);

/** More than this is not read into the page. */
export const MOST_SHOWN = 1_000_000;
export const MOST_DRAWN = 20_000_000;

/** Pages and drawings that hold code (HTML, SVG) are shown as the text that they are. */
export function lookOf(mediaType: string, size: number): Look {
  const type = (mediaType.split(";")[0] ?? "").trim().toLowerCase();
  if (PICTURES.has(type)) return size <= MOST_DRAWN ? "image" : "none";
  if (size > MOST_SHOWN) return "none";
  if (type === "application/json" || type.endsWith("+json")) return "json";
  return type.startsWith("text/") || TEXTS.has(type) || type.endsWith("+xml") ? "text" : "none";
}

/** JSON on lines of its own; what is no JSON stays as it came. */
export function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export interface Folder {
  readonly name: string;
  readonly folders: readonly Folder[];
  readonly files: ReadonlyArray<{ readonly name: string; readonly sha256: string }>;
}

interface Growing {
  readonly folders: Map<string, Growing>;
  readonly files: Array<{ name: string; sha256: string }>;
}

/** The paths of a manifest as folders in folders. */
export function foldersOf(entries: ReadonlyArray<{ readonly path: string; readonly sha256: string }>): Folder {
  const root: Growing = { folders: new Map(), files: [] };
  for (const { path, sha256 } of entries) {
    const parts = path.split("/");
    const name = parts.pop() ?? path;
    let at = root;
    for (const part of parts) {
      const below = at.folders.get(part) ?? { folders: new Map(), files: [] };
      at.folders.set(part, below);
      at = below;
    }
    at.files.push({ name, sha256 });
  }
  return grown("", root);
}

function grown(name: string, { folders, files }: Growing): Folder {
  return { name, folders: [...folders].map(([below, content]) => grown(below, content)), files };
}
