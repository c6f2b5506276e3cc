import { Page } from "../../ui/panel.tsx";

export function SessionsPage() {
  return (
    <Page title="Sessions">
      <p>Under construction.</p>
    </Page>
  );
}
