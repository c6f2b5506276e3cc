import { Page } from "../../ui/panel.tsx";

export function ScopePage() {
  return (
    <Page title="Scope">
      <p>Under construction.</p>
    </Page>
  );
}
