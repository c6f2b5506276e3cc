import { Page } from "../../ui/panel.tsx";

export function KeysPage() {
  return (
    <Page title="Keys">
      <p>Under construction.</p>
    </Page>
  );
}
