import { type FormEvent, useState } from "react";
import { may, useMe } from "../../api/me.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import { useKeyChanges } from "./key-queries.ts";
import { RightsField } from "./key-rights.tsx";
import { faultsOf, type KeyWish, keyOf, NO_WISH, rolesUpTo } from "./key-wish.ts";
import css from "./keys.module.css";
import { MadeKey } from "./made-key.tsx";

const LASTS: ReadonlyArray<readonly [string, string]> = [
  ["1", "a day"],
  ["7", "a week"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "a year"],
  ["", "until it is revoked"],
];

/** Asks for a key; then shows its token, once. */
export function KeyForm({ onClosed }: { readonly onClosed: () => void }) {
  const { make } = useKeyChanges();
  return (
    <Dialog title={make.data === undefined ? "Make a key" : "The key is made"} isOpen onClosed={onClosed}>
      {make.data === undefined ? (
        <Wishing
          problem={make.error}
          isBusy={make.isPending}
          onWished={(wish) => make.mutate(keyOf(wish, Date.now()))}
        />
      ) : (
        <MadeKey made={make.data} onSeen={onClosed} />
      )}
    </Dialog>
  );
}

interface WishingProps {
  readonly problem: unknown;
  readonly isBusy: boolean;
  readonly onWished: (wish: KeyWish) => void;
}

function Wishing({ problem, isBusy, onWished }: WishingProps) {
  const { data: who } = useMe();
  const [wish, setWish] = useState(NO_WISH);
  const [isTried, setTried] = useState(false);
  const faults = faultsOf(wish);
  const shown = isTried ? faults : {};
  const set = (change: Partial<KeyWish>) => setWish((before) => ({ ...before, ...change }));
  const wished = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (!isBusy && Object.keys(faults).length === 0) onWished(wish);
  };
  const isBound = wish.sessionId.trim() !== "";
  return (
    <form className="stack" onSubmit={wished} noValidate>
      <TextField
        label="Name"
        hint="What it is for: “nightly export”, “shop on the web”."
        error={shown.name}
        maxLength={200}
        value={wish.name}
        onChange={(event) => set({ name: event.target.value })}
      />
      <div className={css.pair}>
        {may(who, "users:manage") && (
          <TextField
            label="Speaks for"
            placeholder={who?.user ?? ""}
            hint="A user; you, if left empty."
            value={wish.user}
            onChange={(event) => set({ user: event.target.value })}
          />
        )}
        <SelectField
          label="Role"
          value={isBound ? "agent" : wish.role}
          disabled={isBound}
          hint={isBound ? "The key of a session is an agent's." : "At most your own."}
          onChange={(event) => set({ role: event.target.value })}
        >
          <option value="">{wish.user.trim() === "" ? `yours (${who?.role})` : "member"}</option>
          {rolesUpTo(who?.role ?? "").map((role) => (
            <option key={role}>{role}</option>
          ))}
        </SelectField>
        <SelectField label="Lasts" value={wish.days} onChange={(event) => set({ days: event.target.value })}>
          {LASTS.map(([days, name]) => (
            <option key={days} value={days}>
              {name}
            </option>
          ))}
        </SelectField>
      </div>
      <RightsField wish={wish} fault={shown.rights} onChanged={set} />
      <details>
        <summary>Bind it to a session, or let it be used less often</summary>
        <div className={css.more}>
          <TextField
            label="Only in this session"
            placeholder="sess_…"
            hint="It reaches what the agent of that session reaches, and nothing else."
            value={wish.sessionId}
            onChange={(event) => set({ sessionId: event.target.value })}
          />
          <div className={css.pair}>
            <TextField
              label="Requests a second"
              inputMode="decimal"
              error={shown.perSecond}
              value={wish.perSecond}
              onChange={(event) => set({ perSecond: event.target.value })}
            />
            <TextField
              label="And at once"
              inputMode="numeric"
              error={shown.burst}
              value={wish.burst}
              onChange={(event) => set({ burst: event.target.value })}
            />
          </div>
        </div>
      </details>
      {problem !== null && <ProblemNotice problem={problem} />}
      <Button type="submit" look="primary" isBusy={isBusy}>
        Make the key
      </Button>
    </form>
  );
}
