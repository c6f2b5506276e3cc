import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import type { UnitOut } from "../../api/schema.gen.ts";
import { Badge } from "../../ui/badge.tsx";
import css from "./knowledge.module.css";
import { UnitStatus } from "./unit-status.tsx";
import { contentOf, said } from "./units.ts";

interface UnitListProps {
  readonly units: readonly UnitOut[];
  readonly opened: string | undefined;
  readonly onUnitOpened: (id: string) => void;
}

const ROW_PX = 66;

/** However many there are, only those in sight are drawn. */
export function UnitList({ units, opened, onUnitOpened }: UnitListProps) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: units.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
  });
  return (
    <div className={css.listFrame}>
      <p className={css.count} role="status">
        {units.length} {units.length === 1 ? "unit" : "units"}
      </p>
      <div ref={box} className={css.list}>
        <ul style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start, size }) => {
            const kept = units[index];
            if (kept === undefined) return null;
            return (
              <li
                key={kept.id}
                style={{ top: start, height: size }}
                aria-posinset={index + 1}
                aria-setsize={units.length}
              >
                <button
                  type="button"
                  className={`${css.unit} ${kept.id === opened ? css.opened : ""}`}
                  aria-pressed={kept.id === opened}
                  onClick={() => onUnitOpened(kept.id)}
                >
                  <span className={`one-line ${kept.status === "committed" ? "" : css.gone}`}>
                    {kept.unit === null ? "What it said is gone." : contentOf(kept)}
                  </span>
                  <span className={css.line}>
                    <UnitStatus of={kept.status} />
                    {kept.unit !== null && <Badge>{said(kept.unit, "role")}</Badge>}
                    <span className={`one-line ${css.small}`}>{said(kept.unit, "topic")}</span>
                    <span className={`${css.small} ${css.right}`}>
                      {kept.turn === null ? "added" : `turn ${kept.turn}`}
                    </span>
                  </span>
                </button>
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}
