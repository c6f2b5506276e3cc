import { Page } from "../../ui/panel.tsx";

export function HistoryPage() {
  return (
    <Page title="History">
      <p>Under construction.</p>
    </Page>
  );
}
