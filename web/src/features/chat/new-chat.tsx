import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { addresses } from "../../addresses.ts";
import { answered, api } from "../../api/client.ts";
import { may, useMe } from "../../api/me.ts";
import type { AttachmentOut } from "../../api/schema.gen.ts";
import { SelectField, TextField } from "../../ui/field.tsx";
import { usePageTitle } from "../../ui/title.ts";
import type { ChatActions } from "./actions.ts";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { DrawnLine } from "./line.tsx";
import { linesOf } from "./lines.ts";
import css from "./new-chat.module.css";
import { NEW_CHAT, type Returned, useOutbox } from "./outbox.ts";
import { conversationOptions } from "./queries.ts";
import type { Accepted, Wish } from "./sending.ts";
import { MayOnlyRead } from "./standing.tsx";

interface Choice {
  readonly agent: string;
  readonly pack: string;
  readonly model: string;
  readonly level: string;
  readonly plugins: string;
}
const NO_CHOICE: Choice = { agent: "", pack: "", model: "", level: "", plugins: "" };
const NOTHING: ChatActions = { originOf: () => undefined, approvalOf: () => undefined, onDecided: async () => {} };

/** Begins a session with its first message; who answers is chosen before. */
export function NewChat() {
  usePageTitle("New chat");
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [choice, setChoice] = useState(NO_CHOICE);
  const { data: who } = useMe();
  const composer = useRef<ComposerHandle>(null);
  const onAccepted = useCallback(
    async ({ sessionId }: Accepted) => {
      void queries.invalidateQueries({ queryKey: ["sessions"] });
      await queries.prefetchQuery(conversationOptions(queries, sessionId));
      await navigate(addresses.session(sessionId), { replace: true });
    },
    [queries, navigate],
  );
  const onReturned = useCallback(({ text, attachments, problem }: Returned) => {
    composer.current?.takeBack(text, attachments, problem);
  }, []);
  const { outgoing, send } = useOutbox({ place: NEW_CHAT, onAccepted, onReturned });
  const lines = useMemo(() => linesOf([], 1, outgoing), [outgoing]);
  const onSent = (text: string, attachments: readonly AttachmentOut[]) =>
    send({ text, attachments, wish: wishOf(choice) });
  if (!may(who, "sessions:write"))
    return (
      <div className={css.page}>
        <div className={css.inner}>
          <h1>New chat</h1>
          <MayOnlyRead />
        </div>
      </div>
    );
  return (
    <div className={css.page}>
      <div className={css.inner}>
        <h1>New chat</h1>
        <p className="soft">Choose who answers, or leave it to the house, and say what it is about.</p>
        {lines.length === 0 ? (
          <Chooser choice={choice} onChanged={(part) => setChoice((before) => ({ ...before, ...part }))} />
        ) : (
          lines.map((line) => <DrawnLine key={line.key} line={line} sessionId="" actions={NOTHING} />)
        )}
      </div>
      <Composer
        ref={composer}
        draft=""
        onDraftChanged={() => {}}
        onSent={onSent}
        canAttach={may(who, "artifacts:write")}
        placeholder="Write the first message"
      />
    </div>
  );
}

function Chooser({
  choice,
  onChanged,
}: {
  readonly choice: Choice;
  readonly onChanged: (part: Partial<Choice>) => void;
}) {
  const agents = useQuery({ queryKey: ["agents"], queryFn: () => answered(api.GET("/api/v1/agents")) });
  const packs = useQuery({ queryKey: ["packs"], queryFn: () => answered(api.GET("/api/v1/packs")) });
  return (
    <div className={css.chooser}>
      <SelectField
        label="Agent"
        hint="Who answers in this session."
        value={choice.agent}
        onChange={(event) => onChanged({ agent: event.target.value })}
      >
        <option value="">The default agent</option>
        {agents.data?.items
          .filter((agent) => agent.has_code)
          .map((agent) => (
            <option key={agent.id} value={agent.id}>
              {agent.id}
            </option>
          ))}
      </SelectField>
      <SelectField
        label="Pack"
        hint="Intents, forms and words that the session follows."
        value={choice.pack}
        onChange={(event) => onChanged({ pack: event.target.value })}
      >
        <option value="">None</option>
        {packs.data?.items.map((pack) => (
          <option key={pack.ref} value={pack.ref}>
            {pack.ref}
          </option>
        ))}
      </SelectField>
      <details className={css.more}>
        <summary>Plugins, model and level</summary>
        <div className={css.chooser}>
          <TextField
            label="Model"
            hint="Left empty, the agent chooses."
            value={choice.model}
            onChange={(event) => onChanged({ model: event.target.value })}
          />
          <SelectField
            label="Level"
            hint="How hard the agent is to think."
            value={choice.level}
            onChange={(event) => onChanged({ level: event.target.value })}
          >
            <option value="">As the agent chooses</option>
            {["0", "1", "2", "3"].map((level) => (
              <option key={level}>{level}</option>
            ))}
          </SelectField>
          <TextField
            label="Plugins"
            hint="One for each kind, such as: reasoner=rules, critic=strict"
            value={choice.plugins}
            onChange={(event) => onChanged({ plugins: event.target.value })}
          />
        </div>
      </details>
    </div>
  );
}

/** What was chosen, as `POST /chat` takes it; what was left open is not said. */
function wishOf({ agent, pack, model, level, plugins }: Choice): Wish {
  const chosen = plugins
    .split(/[,\n]/)
    .map((each) => each.split("=").map((part) => part.trim()))
    .flatMap(([kind, id]) => (kind !== undefined && kind !== "" && id !== undefined && id !== "" ? [[kind, id]] : []));
  return {
    ...(agent !== "" && { agent }),
    ...(pack !== "" && { pack }),
    ...(model.trim() !== "" && { model: model.trim() }),
    ...(level !== "" && { level: Number(level) }),
    ...(chosen.length > 0 && { plugins: Object.fromEntries(chosen) as Record<string, string> }),
  };
}
