/** Puts a text on the clipboard; false: this browser does not let a page do that. */
export async function putOnClipboard(text: string): Promise<boolean> {
  // Absent where the console is read over plain http from another machine.
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard === undefined) return copyTheOldWay(text);
  return clipboard.writeText(text).then(
    () => true,
    () => copyTheOldWay(text),
  );
}

function copyTheOldWay(text: string): boolean {
  const put = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", put, { once: true });
  const isDone = document.execCommand("copy");
  document.removeEventListener("copy", put);
  return isDone;
}
