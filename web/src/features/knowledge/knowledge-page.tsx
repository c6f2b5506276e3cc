import { Page } from "../../ui/panel.tsx";

export function KnowledgePage() {
  return (
    <Page title="Knowledge">
      <p>Under construction.</p>
    </Page>
  );
}
