import { useMutation, useQueryClient } from "@tanstack/react-query";
import { answered, api } from "../../api/client.ts";
import type { DoubleText, MessageOut, SessionOut } from "../../api/schema.gen.ts";
import { keepSession } from "../../api/sessions.ts";
import { Button } from "../../ui/button.tsx";
import { useToasts } from "../../ui/toasts.tsx";
import css from "./composer-notes.module.css";
import type { Attempt } from "./conversation.ts";
import { DEFAULT_POLICY, POLICIES } from "./policies.ts";

interface AboveComposerProps {
  readonly session: SessionOut;
  readonly isAnswering: boolean;
  readonly asking: Attempt | undefined;
  readonly editing: MessageOut | null;
  readonly onEditEnded: () => void;
  readonly onElsewhere: () => void;
}

/** Says what the message that is written now will do. */
export function AboveComposer(props: AboveComposerProps) {
  const { session, isAnswering, asking, editing } = props;
  if (editing !== null)
    return (
      <div className={css.note}>
        <span>
          You edit what you said in turn {editing.turn}. It goes on in a fork from there; this session stays as it is.
        </span>
        <Button onClick={props.onEditEnded}>Do not edit</Button>
      </div>
    );
  if (asking !== undefined)
    return (
      <div className={css.note}>
        <span>{asking.agent} waits for your answer. What you send now is the answer to its question.</span>
        <Button onClick={props.onElsewhere}>Say something else instead</Button>
      </div>
    );
  if (isAnswering) return <WhileAnswering session={session} />;
  if (session.status === "paused")
    return <div className={css.note}>This session is paused. Your next message takes it up again.</div>;
  return null;
}

function WhileAnswering({ session }: { readonly session: SessionOut }) {
  const queries = useQueryClient();
  const { complain } = useToasts();
  const policy = session.double_text ?? DEFAULT_POLICY;
  const choosing = useMutation({
    mutationFn: (double_text: DoubleText) =>
      answered(
        api.PATCH("/api/v1/sessions/{session_id}", {
          params: { path: { session_id: session.id } },
          body: { double_text },
        }),
      ),
    onSuccess: (changed) => keepSession(queries, changed),
    onError: complain,
  });
  return (
    <div className={css.note}>
      <span>{POLICIES[policy].says}</span>
      <label className={css.policy}>
        <span>While it answers</span>
        <select value={policy} onChange={(event) => choosing.mutate(event.target.value as DoubleText)}>
          {Object.entries(POLICIES).map(([name, { name: told }]) => (
            <option key={name} value={name}>
              {told}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
