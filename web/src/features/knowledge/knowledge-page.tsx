import { Plus } from "lucide-react";
import { useState } from "react";
import { useParams, useSearchParams } from "react-router";
import { may, useMe } from "../../api/me.ts";
import { useSession } from "../../api/sessions.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Asked, Empty } from "../../ui/notice.tsx";
import { Page } from "../../ui/panel.tsx";
import { AddUnits } from "./add-units.tsx";
import { Bases } from "./bases.tsx";
import css from "./knowledge.module.css";
import { useUnits } from "./queries.ts";
import { UnitList } from "./unit-list.tsx";
import { UnitPanel } from "./unit-panel.tsx";
import { matching, ROLES, STATUSES, statusWords } from "./units.ts";

/** What a session knows: its units, where each came from and what became of it, and the knowledge bases it may use. */
export function KnowledgePage() {
  const { sessionId = "" } = useParams();
  const [params, setParams] = useSearchParams();
  const [isAdding, setAdding] = useState(false);
  const me = useMe();
  const session = useSession(sessionId).data;
  const isLive = session?.status === "active" || session?.status === "paused";
  const mayWrite = may(me.data, "sessions:write") && isLive;
  const change = (name: string, value: string) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === "") after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  return (
    <Page
      isTab
      title="Knowledge"
      aside={
        mayWrite && (
          <Button look="primary" onClick={() => setAdding(true)}>
            <Plus aria-hidden /> Add units
          </Button>
        )
      }
    >
      <p className="soft">
        A unit is something that the session can use again: a fact, a rule, a definition. It comes from what was said,
        from a text that was added, or from a knowledge base.
      </p>
      <Units sessionId={sessionId} params={params} mayWrite={mayWrite} onChanged={change} />
      {session !== undefined && <Bases session={session} mayWrite={mayWrite} />}
      <AddUnits sessionId={sessionId} isOpen={isAdding} onClosed={() => setAdding(false)} />
    </Page>
  );
}

interface UnitsProps {
  readonly sessionId: string;
  readonly params: URLSearchParams;
  readonly mayWrite: boolean;
  readonly onChanged: (name: string, value: string) => void;
}

function Units({ sessionId, params, mayWrite, onChanged }: UnitsProps) {
  const allEpochs = params.get("epochs") === "all";
  const units = useUnits(sessionId, allEpochs);
  const opened = params.get("unit") ?? undefined;
  // Whoever comes with a link to a unit sees it, also when it was replaced.
  const status = params.get("status") ?? (opened === undefined ? "committed" : "any");
  const wanted = {
    words: params.get("q") ?? "",
    status: status === "any" ? "" : status,
    role: params.get("role") ?? "",
  };
  return (
    <>
      <search className={css.filters}>
        <TextField
          label="Search"
          type="search"
          placeholder="words, topic, id"
          value={wanted.words}
          onChange={(event) => onChanged("q", event.target.value)}
        />
        <SelectField
          label="What became of it"
          value={status}
          onChange={(event) => onChanged("status", event.target.value)}
        >
          <option value="any">anything</option>
          {STATUSES.map((each) => (
            <option key={each} value={each}>
              {statusWords(each)}
            </option>
          ))}
        </SelectField>
        <SelectField label="Role" value={wanted.role} onChange={(event) => onChanged("role", event.target.value)}>
          <option value="">any</option>
          {ROLES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </SelectField>
        <label className={css.check}>
          <input
            type="checkbox"
            checked={allEpochs}
            onChange={(event) => onChanged("epochs", event.target.checked ? "all" : "")}
          />
          From before resets too
        </label>
      </search>
      <Asked query={units} what="Reading what the session knows">
        {(all) => {
          const shown = matching(all, wanted);
          const unit = all.find(({ id }) => id === opened);
          return (
            <div className={unit === undefined ? css.split : `${css.split} ${css.beside}`}>
              {shown.length === 0 ? (
                <Empty title={all.length === 0 ? "This session knows nothing yet" : "No unit is like this"}>
                  {all.length === 0
                    ? "Tell it something in the chat, or add units here."
                    : "Look for other words, or for anything."}
                </Empty>
              ) : (
                <UnitList units={shown} opened={opened} onUnitOpened={(id) => onChanged("unit", id)} />
              )}
              {unit !== undefined && (
                <UnitPanel
                  key={unit.id}
                  sessionId={sessionId}
                  units={all}
                  kept={unit}
                  mayWrite={mayWrite}
                  onUnitOpened={(id) => onChanged("unit", id)}
                  onClosed={() => onChanged("unit", "")}
                />
              )}
            </div>
          );
        }}
      </Asked>
    </>
  );
}
