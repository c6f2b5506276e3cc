import { PanelRight, RotateCcw } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { may, useMe } from "../../api/me.ts";
import type { SessionOut } from "../../api/schema.gen.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import type { AsideState } from "./aside.tsx";
import css from "./chat-bar.module.css";
import { ResetDialog } from "./reset-dialog.tsx";

/** Above the conversation: who answers in it, and what can be done with all of it. */
export function ChatBar({ session, aside }: { readonly session: SessionOut; readonly aside: AsideState }) {
  const { data: who } = useMe();
  const [isAsking, setAsking] = useState(false);
  const { agent, packs, preferences } = session;
  const chosen = [preferences.model, ...Object.values(preferences.plugins ?? {})].filter((each) => each != null);
  const isOver = session.status === "closed" || session.status === "expired";
  return (
    <div className={css.bar}>
      <p className={`grow one-line ${css.who}`}>
        <strong>{agent}</strong> answers
        {packs.length > 0 && <> with {packs.join(", ")}</>}
        {chosen.length > 0 && <> · {chosen.join(", ")}</>}
        {session.fork_of !== null && (
          <>
            {" "}
            · a fork of <Link to={addresses.session(session.fork_of)}>another session</Link>
            {session.fork_turn !== null && <>, from turn {session.fork_turn} on</>}
          </>
        )}
      </p>
      {!isOver && may(who, "sessions:write") && (
        <Button look="quiet" onClick={() => setAsking(true)}>
          <RotateCcw aria-hidden /> Reset
        </Button>
      )}
      <IconButton label="Intent and agent" aria-expanded={aside.isOpen} onClick={aside.onToggled}>
        <PanelRight aria-hidden />
      </IconButton>
      <ResetDialog sessionId={session.id} isOpen={isAsking} onClosed={() => setAsking(false)} />
    </div>
  );
}
