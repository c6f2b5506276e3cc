import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button } from "../../ui/button.tsx";
import type { ChatActions } from "./actions.ts";
import { DrawnLine } from "./line.tsx";
import { guessedHeight, type Line } from "./lines.ts";
import css from "./message-list.module.css";

interface MessageListProps {
  readonly lines: readonly Line[];
  readonly sessionId: string;
  readonly actions: ChatActions;
  readonly hasOlder: boolean;
  readonly isReadingOlder: boolean;
  readonly onTopNear: () => void;
  /** What was sent from here last and is on its way: whoever sends something wants to see it. */
  readonly sent: string | undefined;
  /** The number of the message to begin at; null begins at the end. */
  readonly startAt: number | null;
  /** Where somebody looks now: the number of the message at the top, null at the end. */
  readonly onPlaceChanged: (at: number | null) => void;
}

const NEAR_TOP = 8;

/** The conversation, of which only what is in sight is drawn. It stays where it is when older lines come in front. */
export function MessageList(props: MessageListProps) {
  const { lines, hasOlder, onTopNear, sent, startAt, onPlaceChanged } = props;
  const box = useRef<HTMLDivElement>(null);
  const hasBegun = useRef(false);
  const [isPlaced, setPlaced] = useState(false);
  const list = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => guessedHeight(lineAt(lines, index)),
    getItemKey: (index) => lineAt(lines, index).key,
    overscan: 2,
    useFlushSync: false,
    paddingStart: 12,
    paddingEnd: 12,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: 120,
    useAnimationFrameWithResizeObserver: true,
  });
  useLayoutEffect(() => {
    if (hasBegun.current || lines.length === 0) return;
    hasBegun.current = true;
    const start = startAt === null ? -1 : lines.findIndex((line) => numberOf(line) === startAt);
    if (start >= 0) list.scrollToIndex(start, { align: "start" });
    else list.scrollToEnd();
    // Until then the top of the list is only where it was not yet scrolled from.
    requestAnimationFrame(() => setPlaced(true));
  }, [list, lines, startAt]);

  useEffect(() => {
    if (sent === undefined) return;
    list.scrollToEnd();
    // Its height is known once it was drawn.
    const frame = requestAnimationFrame(() => list.scrollToEnd());
    return () => cancelAnimationFrame(frame);
  }, [list, sent]);

  const first = list.range?.startIndex ?? 0;
  const isAtEnd = list.isAtEnd();
  useEffect(() => {
    if (isPlaced && hasOlder && first <= NEAR_TOP) onTopNear();
  }, [isPlaced, first, hasOlder, onTopNear]);
  const at = isAtEnd ? null : topNumber(lines, first);
  useEffect(() => {
    if (isPlaced && at !== undefined) onPlaceChanged(at);
  }, [isPlaced, at, onPlaceChanged]);

  return (
    <div className={css.frame}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard. */}
      <section ref={box} className={css.box} aria-label="Conversation" tabIndex={0}>
        <div className={css.all} style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map(({ key, index, start }) => (
            <div
              key={key}
              ref={list.measureElement}
              data-index={index}
              className={css.line}
              style={{ transform: `translateY(${start}px)` }}
            >
              <DrawnLine line={lineAt(lines, index)} sessionId={props.sessionId} actions={props.actions} />
            </div>
          ))}
        </div>
      </section>
      {props.isReadingOlder && (
        <div role="status" className={css.older}>
          Reading older messages …
        </div>
      )}
      {!isAtEnd && lines.length > 0 && (
        <Button className={css.down ?? ""} onClick={() => list.scrollToEnd()}>
          <ArrowDown aria-hidden /> Newest
        </Button>
      )}
    </div>
  );
}

function lineAt(lines: readonly Line[], index: number): Line {
  const line = lines[index];
  if (line === undefined) throw new RangeError(`There is no line ${index}.`);
  return line;
}

function numberOf(line: Line | undefined): number | null {
  return line?.kind === "said" || line?.kind === "answer" ? (line.message?.seq ?? null) : null;
}

/** The number of the first message from a line on. */
function topNumber(lines: readonly Line[], first: number): number | undefined {
  for (const line of lines.slice(first, first + 20)) {
    const number = numberOf(line);
    if (number !== null) return number;
  }
  return undefined;
}
