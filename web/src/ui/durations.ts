/** How long something lasts, in whole seconds, as one says it: 3 min 20 s. */
export function durationOf(seconds: number): string {
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} days`;
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60), seconds % 60];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${rest} s` : `${rest} s`;
}
