/** A size as one says it: 980 B, 12.4 KiB, 3.1 MiB. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const [value, unit] = bytes < 1_048_576 ? [bytes / 1_024, "KiB"] : [bytes / 1_048_576, "MiB"];
  return `${value.toFixed(1)} ${unit}`;
}
