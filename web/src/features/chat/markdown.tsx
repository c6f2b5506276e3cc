import { type ComponentProps, memo, type ReactElement, type ReactNode, useEffect, useReducer } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Copy } from "../../ui/copy.tsx";
import { drawnNow, later } from "./drawing.ts";
import css from "./markdown.module.css";

const SAFE = /^(https?:|mailto:)/i;
const PLUGINS = [remarkGfm];

/** Only addresses that lead somewhere by themselves; everything else stays words. */
function safeAddress(url: string): string {
  return SAFE.test(url.trim()) ? url : "";
}

function Away({ href, children }: { readonly href?: string | undefined; readonly children?: ReactNode }) {
  if (href === undefined || href === "") return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** The text of what was drawn, for the clipboard. */
function textOf(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(textOf).join("");
  if (node !== null && typeof node === "object" && "props" in node)
    return textOf((node.props as { readonly children?: ReactNode }).children);
  return "";
}

function Code({ children }: ComponentProps<"pre">) {
  return (
    <div className={css.code}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{children}</pre>
      <div className={css.copy}>
        <Copy text={textOf(children).replace(/\n$/, "")} label="Copy the code" />
      </div>
    </div>
  );
}

/** An image from elsewhere would tell its owner who reads it: it is shown as a link. */
const COMPONENTS: Components = {
  a: ({ href, children }) => <Away href={href}>{children}</Away>,
  img: ({ src, alt }) => (
    <Away href={typeof src === "string" ? src : undefined}>
      {alt !== undefined && alt !== "" ? `Image: ${alt}` : "Image"}
    </Away>
  ),
  pre: Code,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard.
    <section className={css.table} aria-label="Table" tabIndex={0}>
      <table>{children}</table>
    </section>
  ),
  input: ({ checked }) => <span aria-hidden>{checked === true ? "☑" : "☐"}</span>,
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h3>{children}</h3>,
};

function draw(text: string): ReactElement {
  return ReactMarkdown({ children: text, remarkPlugins: PLUGINS, urlTransform: safeAddress, components: COMPONENTS });
}

/**
 * A text that an agent wrote: its markdown is drawn, its HTML is shown as it was written, nothing is loaded. When there
 * is much to draw at once the bare words stand there for a moment.
 */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const [, again] = useReducer((count: number) => count + 1, 0);
  const drawn = drawnNow(text, draw);
  const isBare = drawn === null;
  useEffect(() => (isBare ? later(again) : undefined));
  return (
    <div className={`${css.markdown} ${isBare ? css.bare : ""}`} dir="auto">
      {drawn ?? text}
    </div>
  );
});
