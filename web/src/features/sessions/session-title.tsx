import { Pencil } from "lucide-react";
import { type FormEvent, useState } from "react";
import { may, useMe } from "../../api/me.ts";
import type { SessionOut } from "../../api/schema.gen.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { usePageTitle } from "../../ui/title.ts";
import { useSessionChange } from "./queries.ts";
import css from "./session-page.module.css";

/** What people call the session, and a way to call it something else. */
export function SessionTitle({ session, view }: { readonly session: SessionOut; readonly view: string }) {
  const name = session.title ?? session.opening ?? "New session";
  usePageTitle(`${name} · ${view}`);
  const [isOpen, setOpen] = useState(false);
  const [title, setTitle] = useState("");
  const { data: who } = useMe();
  const { rename } = useSessionChange(session.id);
  const isOver = session.status === "closed" || session.status === "expired";
  const mayRename = !isOver && may(who, "sessions:write");
  const save = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate(title.trim(), { onSuccess: () => setOpen(false) });
  };
  return (
    <>
      <h1 className={`one-line ${css.title}`}>{name}</h1>
      {mayRename && (
        <IconButton
          label="Rename"
          onClick={() => {
            setTitle(session.title ?? "");
            setOpen(true);
          }}
        >
          <Pencil aria-hidden />
        </IconButton>
      )}
      <Dialog title="Rename the session" isOpen={isOpen} onClosed={() => setOpen(false)}>
        <form className="stack" onSubmit={save}>
          <TextField
            label="Title"
            value={title}
            maxLength={200}
            required
            autoFocus
            onChange={(event) => setTitle(event.target.value)}
          />
          <Button look="primary" type="submit" isBusy={rename.isPending}>
            Save
          </Button>
        </form>
      </Dialog>
    </>
  );
}
