import { ArrowDown, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import type { UnitOut } from "../../api/schema.gen.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Json } from "../../ui/json.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import { Facts } from "../../ui/panel.tsx";
import { When } from "../../ui/time.tsx";
import { useToasts } from "../../ui/toasts.tsx";
import { EditUnit } from "./edit-unit.tsx";
import css from "./knowledge.module.css";
import { useForget } from "./queries.ts";
import { UnitStatus } from "./unit-status.tsx";
import { chainOf, contentOf, said } from "./units.ts";

interface UnitPanelProps {
  readonly sessionId: string;
  readonly units: readonly UnitOut[];
  readonly kept: UnitOut;
  readonly mayWrite: boolean;
  readonly onUnitOpened: (id: string) => void;
  readonly onClosed: () => void;
}

/** One unit: what it says, where it comes from, what it replaced and what replaced it. */
export function UnitPanel({ sessionId, units, kept, mayWrite, onUnitOpened, onClosed }: UnitPanelProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const [isEditing, setEditing] = useState(false);
  const [isForgetting, setForgetting] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever opens another unit is to hear of it.
  useEffect(() => heading.current?.focus({ preventScroll: true }), [kept.id]);
  return (
    <aside
      className={css.panel}
      aria-label="Unit"
      onKeyDown={(event) => {
        if (event.key === "Escape" && !isEditing && !isForgetting) onClosed();
      }}
    >
      <header className={css.head}>
        <h2 ref={heading} tabIndex={-1} className="grow">
          {said(kept.unit, "topic") || "Forgotten unit"}
        </h2>
        <IconButton label="Close the unit" onClick={onClosed}>
          <X aria-hidden />
        </IconButton>
      </header>
      {kept.unit === null ? (
        <p className="soft">What this unit said is gone for good. That there was one, and when, is still known.</p>
      ) : (
        <p className={css.content}>{contentOf(kept)}</p>
      )}
      <p className="row">
        <UnitStatus of={kept.status} />
        {kept.unit !== null && <Badge>{said(kept.unit, "role")}</Badge>}
      </p>
      <Provenance sessionId={sessionId} kept={kept} />
      <Chain units={units} kept={kept} onUnitOpened={onUnitOpened} />
      {kept.unit !== null && (
        <details>
          <summary>All that it says of itself</summary>
          <Json value={kept.unit} />
        </details>
      )}
      {mayWrite && kept.status !== "forgotten" && (
        <footer className="row">
          {kept.status === "committed" && <Button onClick={() => setEditing(true)}>Edit</Button>}
          <Button look="danger" onClick={() => setForgetting(true)}>
            Forget
          </Button>
        </footer>
      )}
      <EditUnit
        sessionId={sessionId}
        kept={kept}
        isOpen={isEditing}
        onEdited={(edited) => onUnitOpened(edited.id)}
        onClosed={() => setEditing(false)}
      />
      <ForgetUnit sessionId={sessionId} kept={kept} isOpen={isForgetting} onClosed={() => setForgetting(false)} />
    </aside>
  );
}

function Provenance({ sessionId, kept }: { readonly sessionId: string; readonly kept: UnitOut }) {
  const source = said(kept.unit, "source_name") || said(kept.unit, "source_type") || "this session";
  const triple = ["subject", "relation", "object"].map((name) => said(kept.unit, name));
  return (
    <Facts
      of={[
        ["Made by", kept.turn === null ? "a command" : `turn ${kept.turn}`],
        ...(kept.run_id === null
          ? []
          : ([
              [
                "Why",
                <Link key="why" to={addresses.why(sessionId, kept.run_id)}>
                  The run that made it
                </Link>,
              ],
            ] as const)),
        ["Source", source],
        ["Kept", <When key="kept" at={kept.kept_at} />],
        ...(said(kept.unit, "condition") === "" ? [] : [["Only if", said(kept.unit, "condition")] as const]),
        ...(said(kept.unit, "slot") === "" ? [] : [["One value at a time", said(kept.unit, "slot")] as const]),
        ...(triple.every(Boolean) ? [["As a triple", triple.join(" → ")] as const] : []),
        [
          "Id",
          <span key="id" className="row">
            <code>{kept.id}</code>
            <Copy text={kept.id} label="Copy the id" />
          </span>,
        ],
      ]}
    />
  );
}

interface ChainProps {
  readonly units: readonly UnitOut[];
  readonly kept: UnitOut;
  readonly onUnitOpened: (id: string) => void;
}

function Chain({ units, kept, onUnitOpened }: ChainProps) {
  const chain = chainOf(units, kept.id);
  if (chain.length < 2) return null;
  return (
    <section>
      <h3>What replaced what</h3>
      <ol className={css.chain}>
        {chain.map((link, at) => (
          <li key={link.id} aria-current={link.id === kept.id ? "true" : undefined}>
            {at > 0 && (
              <span className={css.arrow}>
                <ArrowDown aria-hidden /> replaced by
              </span>
            )}
            <button
              type="button"
              className={`${css.link} ${link.id === kept.id ? css.opened : ""}`}
              onClick={() => onUnitOpened(link.id)}
            >
              <span className={link.status === "committed" ? undefined : css.gone}>
                {contentOf(link) || "(forgotten)"}
              </span>
              <UnitStatus of={link.status} />
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

interface ForgetUnitProps {
  readonly sessionId: string;
  readonly kept: UnitOut;
  readonly isOpen: boolean;
  readonly onClosed: () => void;
}

function ForgetUnit({ sessionId, kept, isOpen, onClosed }: ForgetUnitProps) {
  const forget = useForget(sessionId, kept.id);
  const { tell } = useToasts();
  const onConfirmed = () =>
    forget.mutate(undefined, {
      onSuccess: () => {
        tell("The unit was forgotten.");
        onClosed();
      },
    });
  return (
    <Confirm
      title="Forget this unit?"
      action="Forget it"
      isOpen={isOpen}
      isBusy={forget.isPending}
      onConfirmed={onConfirmed}
      onClosed={onClosed}
    >
      <p className={css.content}>{contentOf(kept)}</p>
      <p>
        What it says is lost for good and no later turn can use it. That there was a unit, and when, stays known. What
        was said in the conversation stays as well.
      </p>
      {forget.error !== null && <ProblemNotice problem={forget.error} />}
    </Confirm>
  );
}
