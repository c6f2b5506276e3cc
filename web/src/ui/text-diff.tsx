import { diffLines, diffWordsWithSpace } from "diff";
import { useMemo } from "react";
import css from "./text-diff.module.css";

interface TextDiffProps {
  readonly before: string;
  readonly after: string;
  /** Lines for files, words for what people say. */
  readonly by: "words" | "lines";
}

const LONGEST_CHARS = 200_000;
const PATIENCE_MS = 40;

/** Two texts in one: what is gone is struck out, what is new is underlined; both are said aloud too. */
export function TextDiff({ before, after, by }: TextDiffProps) {
  const parts = useMemo(() => partsOf(before, after, by), [before, after, by]);
  if (parts === undefined)
    return (
      <p className="soft">
        These texts are too long or too different to be compared here ({before.length} and {after.length} characters).
      </p>
    );
  if (before === after) return <p className="soft">Both texts are the same.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard.
    <pre className={css.diff} tabIndex={0}>
      {parts.map((part) => (
        <Part key={part.at} {...part} />
      ))}
    </pre>
  );
}

interface PartProps {
  readonly at: number;
  readonly text: string;
  readonly change: "same" | "added" | "removed";
}

function Part({ text, change }: PartProps) {
  if (change === "same") return <span>{text}</span>;
  const [Tag, says] = change === "added" ? (["ins", "new"] as const) : (["del", "gone"] as const);
  return (
    <Tag className={css[change]}>
      <span className="unseen"> [{says}: </span>
      {text}
      <span className="unseen">] </span>
    </Tag>
  );
}

function partsOf(before: string, after: string, by: "words" | "lines"): readonly PartProps[] | undefined {
  if (before.length + after.length > LONGEST_CHARS) return undefined;
  const found =
    by === "words"
      ? diffWordsWithSpace(before, after, { timeout: PATIENCE_MS })
      : diffLines(before, after, { timeout: PATIENCE_MS });
  return found?.map((part, at) => ({
    at,
    text: part.value,
    change: part.added ? "added" : part.removed ? "removed" : "same",
  }));
}
