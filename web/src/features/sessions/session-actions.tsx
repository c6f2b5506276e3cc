import { Download, EllipsisVertical, GitFork, Pause, Play, Square, Trash2 } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { useNavigate } from "react-router";
import { addresses } from "../../addresses.ts";
import { ask } from "../../api/client.ts";
import { may, useMe } from "../../api/me.ts";
import type { SessionOut } from "../../api/schema.gen.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { saveFile } from "../../ui/files.ts";
import { useToasts } from "../../ui/toasts.tsx";
import { useSessionChange } from "./queries.ts";
import css from "./session-actions.module.css";

/** What can be done with a session as it stands. */
export function SessionActions({ session }: { readonly session: SessionOut }) {
  const id = useId();
  const go = useNavigate();
  const { tell, complain } = useToasts();
  const { data: who } = useMe();
  const [asking, setAsking] = useState<"close" | "erase" | null>(null);
  const { change, fork, goOn, erase } = useSessionChange(session.id);
  const isOver = session.status === "closed" || session.status === "expired";
  const mayWrite = may(who, "sessions:write");

  const exportAll = async () => {
    try {
      const response = await ask(`/api/v1/sessions/${encodeURIComponent(session.id)}/export`);
      saveFile(await response.blob(), `${session.id}.zip`);
    } catch (problem) {
      complain(problem);
    }
  };
  const forked = () =>
    fork.mutate(undefined, {
      onSuccess: (made) => {
        tell("Forked. What you say here leaves the other session as it is.");
        void go(addresses.session(made.id));
      },
    });
  const wentOn = () => goOn.mutate(session.agent, { onSuccess: (next) => void go(addresses.session(next.id)) });
  const erased = () => {
    erase.mutate(undefined, {
      onSuccess: () => {
        tell("Erased, with a receipt.");
        void go(addresses.sessions);
      },
    });
  };

  return (
    <>
      {mayWrite && session.status === "paused" && (
        <Button look="primary" isBusy={change.isPending} onClick={() => change.mutate("resume")}>
          <Play aria-hidden size={16} /> Resume
        </Button>
      )}
      {mayWrite && isOver && (
        <Button look="primary" isBusy={goOn.isPending} onClick={wentOn}>
          Continue in a new session
        </Button>
      )}
      <IconButton label="More" popoverTarget={id} className={css.more ?? ""}>
        <EllipsisVertical aria-hidden />
      </IconButton>
      <div id={id} popover="auto" className={css.menu}>
        {mayWrite && session.status === "active" && (
          <Item icon={<Pause aria-hidden />} onChosen={() => change.mutate("pause")} menu={id}>
            Pause
          </Item>
        )}
        {mayWrite && (
          <Item icon={<GitFork aria-hidden />} onChosen={forked} menu={id}>
            Fork from here
          </Item>
        )}
        <Item icon={<Download aria-hidden />} onChosen={() => void exportAll()} menu={id}>
          Export everything
        </Item>
        {mayWrite && !isOver && (
          <Item icon={<Square aria-hidden />} onChosen={() => setAsking("close")} menu={id}>
            Close …
          </Item>
        )}
        {mayWrite && (
          <Item icon={<Trash2 aria-hidden />} onChosen={() => setAsking("erase")} menu={id}>
            Erase …
          </Item>
        )}
      </div>
      <Confirm
        title="Close this session?"
        action="Close the session"
        isOpen={asking === "close"}
        isBusy={change.isPending}
        onClosed={() => setAsking(null)}
        onConfirmed={() => change.mutate("close", { onSettled: () => setAsking(null) })}
      >
        <p>Nothing more can be said in it. It stays readable, and a new session can continue it.</p>
      </Confirm>
      <Confirm
        title="Erase this session for good?"
        action="Erase for good"
        isOpen={asking === "erase"}
        isBusy={erase.isPending}
        onClosed={() => setAsking(null)}
        onConfirmed={erased}
      >
        <p>Its messages, units, runs and explanations go, everywhere they are kept. This cannot be taken back.</p>
        <p className="soft">
          A receipt says what was erased and when, without a word of it. Export it first if you may need it.
        </p>
      </Confirm>
    </>
  );
}

interface ItemProps {
  readonly icon: ReactNode;
  readonly menu: string;
  readonly onChosen: () => void;
  readonly children: ReactNode;
}

function Item({ icon, menu, onChosen, children }: ItemProps) {
  return (
    <Button look="quiet" className={css.item ?? ""} popoverTarget={menu} popoverTargetAction="hide" onClick={onChosen}>
      {icon} {children}
    </Button>
  );
}
