import { Check, Copy as CopyIcon } from "lucide-react";
import { useState } from "react";
import { IconButton } from "./button.tsx";

/** Puts a text on the clipboard and says so for a moment. */
export function Copy({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1_500);
  };
  return (
    <IconButton label={isDone ? "Copied" : label} onClick={() => void copy()}>
      {isDone ? <Check aria-hidden /> : <CopyIcon aria-hidden />}
    </IconButton>
  );
}
