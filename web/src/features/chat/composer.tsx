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
import type { AttachmentOut } from "../../api/schema.gen.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import { Uploads } from "./attached.tsx";
import css from "./composer.module.css";
import { useUploads } from "./uploads.ts";

export interface ComposerHandle {
  /** Writes something else for now; the draft with its files is kept aside. */
  readonly setAside: (text: string, attachments: readonly AttachmentOut[]) => void;
  /** Goes on with the draft that was put aside. */
  readonly bringBack: () => void;
  /** Puts a message that was refused in front of what is written now. */
  readonly takeBack: (text: string, attachments: readonly AttachmentOut[], problem: unknown) => void;
}

interface ComposerProps {
  readonly ref?: Ref<ComposerHandle>;
  readonly draft: string;
  readonly onDraftChanged: (draft: string) => void;
  /** Resolves when the message is safe; raises when it is refused, and the text comes back. */
  readonly onSent: (text: string, attachments: readonly AttachmentOut[]) => Promise<unknown>;
  readonly canAttach: boolean;
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
  canAttach,
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
  const { uploads, add, addKept, remove, move } = useUploads();
  const aside = useRef<string | null>(null);
  const written = useRef(draft);
  const hint = useId();
  const canSend = (text.trim() !== "" || uploads.length > 0) && uploads.every((each) => each.attachment !== null);

  const show = (to: string) => {
    written.current = to;
    setText(to);
  };
  const write = (to: string) => {
    show(to);
    // What is written in between is no draft.
    if (aside.current === null) onDraftChanged(to);
  };
  const returned = (said: string, why: unknown) => {
    setProblem(why);
    write(written.current === "" ? said : `${said}\n${written.current}`);
    field.current?.focus();
  };
  useImperativeHandle(ref, () => ({
    setAside: (to, attachments) => {
      if (aside.current === null) {
        aside.current = text;
        move("here", "aside");
      } else remove(uploads);
      show(to);
      addKept(attachments);
      field.current?.focus();
    },
    bringBack: () => {
      show(aside.current ?? "");
      aside.current = null;
      remove(uploads);
      move("aside", "here");
      setProblem(undefined);
      field.current?.focus();
    },
    takeBack: (said, attachments, why) => {
      addKept(attachments);
      returned(said, why);
    },
  }));
  useEffect(() => {
    // Whoever has a keyboard can write at once; a page on a phone does not open one unasked.
    if (document.activeElement === document.body && matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);
  const send = async () => {
    if (!canSend) return;
    const sent = uploads;
    const kept = sent.flatMap(({ attachment }) => (attachment === null ? [] : [attachment]));
    // A message is never without words: what is attached stands for itself by its name.
    const said = text.trim() === "" ? sent.map(({ name }) => name).join(", ") : text;
    setProblem(undefined);
    write("");
    move("here", "sent", sent);
    field.current?.focus();
    try {
      await onSent(said, kept);
      remove(sent);
    } catch (refused) {
      // Whoever left the page finds it in the outbox.
      if (field.current === null) return;
      move("sent", "here", sent);
      returned(said, refused);
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
    if (!canAttach || event.clipboardData.files.length === 0) return;
    event.preventDefault();
    add([...event.clipboardData.files]);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    if (canAttach) add([...event.dataTransfer.files]);
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
      <Uploads uploads={uploads} onRemoved={(upload) => remove([upload])} />
      <div className={css.box}>
        {canAttach && (
          <>
            <IconButton label="Attach files" onClick={() => files.current?.click()}>
              <Paperclip aria-hidden />
            </IconButton>
            <input ref={files} type="file" multiple hidden onChange={onChosen} aria-label="Files to attach" />
          </>
        )}
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
        <Button look="primary" type="submit" disabled={!canSend} className={css.round ?? ""} aria-label={sendName}>
          <ArrowUp aria-hidden />
          <span className={css.wide}>{sendName}</span>
        </Button>
      </div>
      {below}
    </form>
  );
}
