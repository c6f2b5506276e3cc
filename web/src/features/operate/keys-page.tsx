import { Plus } from "lucide-react";
import { useState } from "react";
import { useSearchParams } from "react-router";
import { addresses } from "../../addresses.ts";
import { may, useMe } from "../../api/me.ts";
import type { KeyKind } from "../../api/schema.gen.ts";
import { Button } from "../../ui/button.tsx";
import { Asked, Empty } from "../../ui/notice.tsx";
import { Page, Panel } from "../../ui/panel.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { KeyForm } from "./key-form.tsx";
import { useKeys } from "./key-queries.ts";
import { KeyTable } from "./key-table.tsx";

/** The keys of programs and the logins of browsers: who can come in, how far, and until when. */
export function KeysPage() {
  const [params] = useSearchParams();
  const { data: who } = useMe();
  const [isMaking, setMaking] = useState(false);
  const kind: KeyKind = params.get("kind") === "login" ? "login" : "key";
  const seesAll = may(who, "users:manage");
  const mayMake = may(who, "keys:write") && who?.session_id == null;
  return (
    <Page
      title="Keys"
      aside={
        mayMake && (
          <Button look="primary" onClick={() => setMaking(true)}>
            <Plus aria-hidden size={16} /> Make a key
          </Button>
        )
      }
    >
      <Tabs
        label="Keys"
        tabs={[
          { to: addresses.keys, name: "Keys of programs", isHere: kind === "key" },
          { to: `${addresses.keys}?kind=login`, name: "Logins of browsers", isHere: kind === "login" },
        ]}
      />
      <p className="soft">
        {kind === "key"
          ? "A program shows a key to come in. It speaks for a user, and goes no further than its role and its limits."
          : "A browser that has shown a token holds one of these in a cookie. Revoking it logs that browser out."}{" "}
        {!seesAll && "You see your own; owner and admin see all of the tenant."}
      </p>
      <Keys kind={kind} />
      {isMaking && <KeyForm onClosed={() => setMaking(false)} />}
    </Page>
  );
}

function Keys({ kind }: { readonly kind: KeyKind }) {
  const keys = useKeys(kind);
  return (
    <Panel title={kind === "key" ? "Keys" : "Logins"}>
      <Asked query={keys} what="Looking for keys">
        {({ pages }) => {
          const all = pages.flatMap((page) => page.items);
          return all.length === 0 ? (
            <Empty title={kind === "key" ? "No keys yet" : "No browser is logged in"}>
              {kind === "key" && "Make one for each program, so that each can be revoked without the others."}
            </Empty>
          ) : (
            <KeyTable keys={all} kind={kind} />
          );
        }}
      </Asked>
      {keys.hasNextPage && (
        <Button isBusy={keys.isFetchingNextPage} onClick={() => void keys.fetchNextPage()}>
          Show older ones
        </Button>
      )}
    </Panel>
  );
}
