import { Check, Copy as CopyIcon, X } from "lucide-react";
import { useState } from "react";
import { IconButton } from "./button.tsx";
import { putOnClipboard } from "./clipboard.ts";

const TOLD_MS = 1_500;

/** Puts a text on the clipboard and says for a moment whether that worked. */
export function Copy({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [isDone, setDone] = useState<boolean | null>(null);
  const copy = async () => {
    setDone(await putOnClipboard(text));
    setTimeout(() => setDone(null), TOLD_MS);
  };
  if (isDone === false)
    return (
      <IconButton label="The browser does not allow it: select the text and copy it">
        <X aria-hidden />
      </IconButton>
    );
  return (
    <IconButton label={isDone ? "Copied" : label} onClick={() => void copy()}>
      {isDone ? <Check aria-hidden /> : <CopyIcon aria-hidden />}
    </IconButton>
  );
}
