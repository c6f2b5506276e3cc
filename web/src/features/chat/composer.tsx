import { ArrowUp, Paperclip, Square } from "lucide-react";
import {
  type ChangeEvent,
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  useEffect,
  useId,
  useImperativeHandle,
  useRef,
  useState,
} from "react";
import type { ArtifactOut } from "../../api/schema.gen.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import { Uploads } from "./attached.tsx";
import css from "./composer.module.css";
import { useUploads } from "./uploads.ts";

export interface ComposerHandle {
  /** Puts a text there and the cursor behind it. */
  readonly write: (text: string) => void;
  readonly focus: () => void;
}

interface ComposerProps {
  readonly ref?: Ref<ComposerHandle>;
  readonly draft: string;
  readonly onDraftChanged: (draft: string) => void;
  /** Resolves when the message is safe; raises when it is refused, and the text comes back. */
  readonly onSent: (text: string, attachments: readonly ArtifactOut[]) => Promise<unknown>;
  readonly onEmptyUp?: () => void;
  readonly onEscaped?: () => void;
  readonly onStopped?: (() => void) | undefined;
  readonly sendName?: string;
  readonly placeholder: string;
  /** What will happen to the message, in a line above it. */
  readonly above?: ReactNode;
  readonly below?: ReactNode;
}

/** Where a message is written: Enter sends it, Shift+Enter begins a new line. */
export function Composer({
  ref,
  draft,
  onDraftChanged,
  onSent,
  onEmptyUp,
  onEscaped,
  onStopped,
  sendName = "Send",
  placeholder,
  above,
  below,
}: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(draft);
  const [problem, setProblem] = useState<unknown>();
  const { uploads, add, remove, clear } = useUploads();
  const hint = useId();
  const isUploading = uploads.some((each) => each.artifact === null && each.problem === null);
  const canSend = (text.trim() !== "" || uploads.length > 0) && !isUploading;

  const write = (to: string) => {
    setText(to);
    onDraftChanged(to);
  };
  useImperativeHandle(ref, () => ({
    write: (to) => {
      write(to);
      field.current?.focus();
    },
    focus: () => field.current?.focus(),
  }));
  useEffect(() => {
    // Whoever has a keyboard can write at once; a page on a phone does not open one unasked.
    if (document.activeElement === document.body && matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);
  const send = async () => {
    if (!canSend) return;
    const kept = uploads.flatMap((each) => (each.artifact === null ? [] : [each.artifact]));
    if (text.trim() === "" && kept.length === 0) return;
    // A message is never without words: what is attached stands for itself by its name.
    const said = text.trim() === "" ? kept.map((artifact) => artifact.name ?? artifact.id).join(", ") : text;
    setProblem(undefined);
    write("");
    try {
      const sending = onSent(said, kept);
      clear();
      await sending;
    } catch (refused) {
      if (refused instanceof DOMException && refused.name === "AbortError") return;
      setProblem(refused);
      setText((now) => {
        const back = now === "" ? said : `${said}\n${now}`;
        onDraftChanged(back);
        return back;
      });
      field.current?.focus();
    }
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void send();
    } else if (event.key === "ArrowUp" && text === "" && onEmptyUp !== undefined) {
      event.preventDefault();
      onEmptyUp();
    } else if (event.key === "Escape") onEscaped?.();
  };
  const onPaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    add([...event.clipboardData.files]);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    add([...event.dataTransfer.files]);
  };
  const onChosen = (event: ChangeEvent<HTMLInputElement>) => {
    add([...(event.target.files ?? [])]);
    event.target.value = "";
    field.current?.focus();
  };
  return (
    <form
      className={css.composer}
      aria-label="New message"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
    >
      {problem !== undefined && <ProblemNotice problem={problem} />}
      <div id={hint}>{above}</div>
      <Uploads uploads={uploads} onRemoved={remove} />
      <div className={css.box}>
        <IconButton label="Attach files" onClick={() => files.current?.click()}>
          <Paperclip aria-hidden />
        </IconButton>
        <input ref={files} type="file" multiple hidden onChange={onChosen} aria-label="Files to attach" />
        <div className={css.grow} data-text={text}>
          <textarea
            ref={field}
            aria-label="Message"
            aria-describedby={hint}
            className={css.field}
            placeholder={placeholder}
            rows={1}
            value={text}
            onChange={(event) => write(event.target.value)}
            onKeyDown={onKey}
            onPaste={onPaste}
            dir="auto"
          />
        </div>
        {onStopped !== undefined && (
          <Button onClick={onStopped} className={css.round ?? ""}>
            <Square aria-hidden /> Stop
          </Button>
        )}
        <Button look="primary" type="submit" isBusy={!canSend} className={css.round ?? ""} aria-label={sendName}>
          <ArrowUp aria-hidden />
          <span className={css.wide}>{sendName}</span>
        </Button>
      </div>
      {below}
    </form>
  );
}
