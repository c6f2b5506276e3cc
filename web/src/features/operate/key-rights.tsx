import { useId } from "react";
import { may, useMe } from "../../api/me.ts";
import { Asked } from "../../ui/notice.tsx";
import { useRightsAsked } from "./key-queries.ts";
import type { KeyWish, Opens } from "./key-wish.ts";
import css from "./keys.module.css";

const WAYS: ReadonlyArray<readonly [Opens, string]> = [
  ["all", "All that its role may"],
  ["read", "Reading alone"],
  ["some", "Only what I choose"],
];

interface RightsFieldProps {
  readonly wish: KeyWish;
  readonly fault: string | undefined;
  readonly onChanged: (change: Partial<KeyWish>) => void;
}

/** What a key opens: a program that needs little should not hold much. */
export function RightsField({ wish, fault, onChanged }: RightsFieldProps) {
  const group = useId();
  return (
    <fieldset className={css.rights}>
      <legend>What it opens</legend>
      {WAYS.map(([opens, name]) => (
        <label key={opens} className={css.choice}>
          <input type="radio" name={group} checked={wish.opens === opens} onChange={() => onChanged({ opens })} />
          {name}
        </label>
      ))}
      {wish.opens === "some" && <Chosen wish={wish} onChanged={onChanged} />}
      {fault !== undefined && (
        <p role="alert" className={css.fault}>
          {fault}
        </p>
      )}
    </fieldset>
  );
}

function Chosen({ wish, onChanged }: Pick<RightsFieldProps, "wish" | "onChanged">) {
  const { data: who } = useMe();
  const asked = useRightsAsked(true);
  return (
    <Asked query={asked} what="Reading what there is to open">
      {(rights) => (
        <div className={css.list}>
          {rights
            .filter((right) => may(who, right))
            .map((right) => (
              <label key={right} className={css.choice}>
                <input
                  type="checkbox"
                  checked={wish.rights.includes(right)}
                  onChange={(event) =>
                    onChanged({
                      rights: event.target.checked
                        ? [...wish.rights, right]
                        : wish.rights.filter((each) => each !== right),
                    })
                  }
                />
                <code>{right}</code>
              </label>
            ))}
        </div>
      )}
    </Asked>
  );
}
