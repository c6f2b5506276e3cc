import { Page } from "../../ui/panel.tsx";

export function ApprovalsPage() {
  return (
    <Page title="Approvals">
      <p>Under construction.</p>
    </Page>
  );
}
