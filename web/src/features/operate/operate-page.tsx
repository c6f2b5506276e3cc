import { Page } from "../../ui/panel.tsx";

export function OperatePage() {
  return (
    <Page title="Operate">
      <p>Under construction.</p>
    </Page>
  );
}
