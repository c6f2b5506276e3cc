import { useState } from "react";
import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { may, useMe } from "../../api/me.ts";
import type { KeyKind, KeyOut } from "../../api/schema.gen.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { useNow, When } from "../../ui/time.tsx";
import { useKeyChanges } from "./key-queries.ts";
import css from "./keys.module.css";

interface KeyTableProps {
  readonly keys: readonly KeyOut[];
  readonly kind: KeyKind;
}

/** Every key with what it opens and whether it still does. */
export function KeyTable({ keys, kind }: KeyTableProps) {
  const { data: who } = useMe();
  const [asking, setAsking] = useState<KeyOut | null>(null);
  const { revoke } = useKeyChanges();
  const now = useNow();
  const isHere = (key: KeyOut) => key.id === (kind === "key" ? who?.key_id : who?.login_id);
  const columns: ReadonlyArray<Column<KeyOut>> = [
    {
      title: kind === "key" ? "Name" : "Login",
      of: (key) => (
        <span className={css.name}>
          <strong>{kind === "key" ? key.name : `…${key.id.slice(-6)}`}</strong>
          {isHere(key) && <Badge tone="accent">{kind === "key" ? "you came in with it" : "this browser"}</Badge>}
        </span>
      ),
    },
    { title: "Speaks for", of: (key) => `${key.user} (${key.role})` },
    { title: "Opens", of: (key) => <OpensOf of={key} /> },
    { title: "Made", of: (key) => <When at={key.created_at} /> },
    // When a login was used is not written down: its browser is in all the time.
    ...(kind === "key"
      ? [{ title: "Last used", of: (key: KeyOut) => (key.used_at === null ? "never" : <When at={key.used_at} />) }]
      : []),
    { title: "Ends", of: (key) => (key.expires_at === null ? "when revoked" : <When at={key.expires_at} />) },
    {
      title: "State",
      of: (key) => {
        const [tone, text] = stateOf(key, now);
        return <Badge tone={tone}>{text}</Badge>;
      },
    },
    ...(may(who, "keys:write")
      ? [
          {
            title: "What to do",
            of: (key: KeyOut) =>
              key.revoked_at === null && (
                <Button
                  look="danger"
                  aria-label={`Revoke ${kind === "key" ? key.name : `the login of ${key.user}`}`}
                  onClick={() => setAsking(key)}
                >
                  Revoke …
                </Button>
              ),
          },
        ]
      : []),
  ];
  return (
    <>
      <Table
        caption={kind === "key" ? "Keys of programs" : "Logins of browsers"}
        columns={columns}
        rows={keys}
        keyOf={(key) => key.id}
      />
      <Confirm
        title={kind === "key" ? `Revoke “${asking?.name}”?` : "Log this browser out?"}
        action="Revoke it"
        isOpen={asking !== null}
        isBusy={revoke.isPending}
        onClosed={() => setAsking(null)}
        onConfirmed={() => asking !== null && revoke.mutate(asking.id, { onSettled: () => setAsking(null) })}
      >
        <p>
          Whoever uses it is turned away from now on, on every node within a second. It cannot be taken back: make a new
          key if they should come in again.
        </p>
        {asking !== null && isHere(asking) && (
          <p>
            <strong>You are in with this one yourself:</strong> you will be logged out.
          </p>
        )}
      </Confirm>
    </>
  );
}

function OpensOf({ of: key }: { readonly of: KeyOut }) {
  return (
    <span className={css.opens}>
      {key.limited_to === null ? (
        <span>all that its role may</span>
      ) : (
        key.limited_to.map((right) => <code key={right}>{right}</code>)
      )}
      {key.session_id !== null && (
        <Link to={addresses.session(key.session_id)}>in one session (…{key.session_id.slice(-6)})</Link>
      )}
      {key.rate !== null && (
        <span className="soft">
          {key.rate.per_second} a second, {key.rate.burst} at once
        </span>
      )}
    </span>
  );
}

function stateOf(key: KeyOut, now: number): readonly [Tone, string] {
  if (key.revoked_at !== null) return ["neutral", "revoked"];
  if (key.expires_at !== null && Date.parse(key.expires_at) <= now) return ["neutral", "expired"];
  return ["good", "works"];
}
