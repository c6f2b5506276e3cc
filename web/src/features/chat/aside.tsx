import { useState, useSyncExternalStore } from "react";
import type { useLayout } from "../../api/layout.ts";
import type { SessionOut } from "../../api/schema.gen.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Facts, Panel } from "../../ui/panel.tsx";
import css from "./aside.module.css";
import { IntentPanel, type OnAnswered } from "./intent-panel.tsx";

interface AsideProps {
  readonly session: SessionOut;
  readonly state: AsideState;
  readonly onAnswered: OnAnswered | undefined;
}

const WIDE = "(min-width: 1000px)";

function useIsWide(): boolean {
  return useSyncExternalStore(
    (onChange) => {
      const query = matchMedia(WIDE);
      query.addEventListener("change", onChange);
      return () => query.removeEventListener("change", onChange);
    },
    () => matchMedia(WIDE).matches,
  );
}

export interface AsideState {
  readonly isWide: boolean;
  readonly isOpen: boolean;
  readonly onToggled: () => void;
}

/** Whether what stands beside the chat is open; on a wide screen that is kept with the session. */
export function useAside(session: SessionOut, layout: ReturnType<typeof useLayout>): AsideState {
  const isWide = useIsWide();
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const kept = layout.layout.aside;
  const isAsideOpen = typeof kept === "boolean" ? kept : session.packs.length > 0;
  return isWide
    ? { isWide, isOpen: isAsideOpen, onToggled: () => layout.keep({ aside: !isAsideOpen }) }
    : { isWide, isOpen: isDrawerOpen, onToggled: () => setDrawerOpen(!isDrawerOpen) };
}

/** Beside the chat, on a phone above it: who answers, and what the session understood. */
export function Aside({ session, state, onAnswered }: AsideProps) {
  const parts = (
    <>
      <IntentPanel session={session} onAnswered={onAnswered} />
      <WhoAnswers session={session} />
    </>
  );
  if (!state.isWide)
    return (
      <Dialog title="Intent and agent" isOpen={state.isOpen} onClosed={state.onToggled}>
        {parts}
      </Dialog>
    );
  return state.isOpen ? (
    <aside className={css.aside} aria-label="Intent and agent">
      {parts}
    </aside>
  ) : null;
}

function WhoAnswers({ session }: { readonly session: SessionOut }) {
  const { preferences, packs, agent } = session;
  const plugins = Object.entries(preferences.plugins ?? {});
  return (
    <Panel title="Who answers">
      <Facts
        of={[
          ["Agent", agent],
          ["Pack", packs.length === 0 ? "none" : packs.join(", ")],
          ["Model", preferences.model ?? "as the agent chooses"],
          [
            "Plugins",
            plugins.length === 0 ? "as the agent chooses" : plugins.map((each) => each.join(": ")).join(", "),
          ],
          ...(preferences.level == null ? [] : [["Level", String(preferences.level)] as const]),
        ]}
      />
    </Panel>
  );
}
