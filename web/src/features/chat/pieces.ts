/** Cuts a long text into pieces that can be drawn one by one, where its markdown has room for it. */

const LONGEST = 4_000;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;

/** The pieces of a text, in order; put together again they say the same. Short texts are one piece. */
export function piecesOf(text: string, longest: number = LONGEST): readonly string[] {
  if (text.length <= longest * 1.5) return [text];
  const pieces: string[] = [];
  let piece: string[] = [];
  let size = 0;
  let fence: string | null = null;
  const close = () => {
    if (piece.length === 0) return;
    pieces.push(piece.join("\n"));
    piece = [];
    size = 0;
  };
  for (const line of text.split("\n").flatMap((each) => cut(each, longest))) {
    const mark = FENCE.exec(line);
    if (fence === null && size >= longest && (line.trim() === "" || size >= longest * 1.5)) close();
    else if (fence !== null && size >= longest && mark === null) {
      // Code goes on in the next piece: each piece is a block of its own.
      piece.push(closing(fence));
      close();
      piece.push(fence);
    }
    if (mark !== null) fence = fence === null ? line : isEndOf(line, fence) ? null : fence;
    piece.push(line);
    size += line.length + 1;
  }
  close();
  return pieces;
}

function cut(line: string, longest: number): readonly string[] {
  if (line.length <= longest) return [line];
  const parts: string[] = [];
  for (let at = 0; at < line.length; ) {
    let end = Math.min(at + longest, line.length);
    // Never in the middle of a character.
    if (/[\uDC00-\uDFFF]/.test(line.charAt(end))) end -= 1;
    parts.push(line.slice(at, end));
    at = end;
  }
  return parts;
}

function closing(fence: string): string {
  return FENCE.exec(fence)?.[1] ?? "```";
}

function isEndOf(line: string, fence: string): boolean {
  const [end, begin] = [FENCE.exec(line), FENCE.exec(fence)];
  return end?.[2]?.trim() === "" && (end[1] ?? "").startsWith(begin?.[1] ?? "`");
}
