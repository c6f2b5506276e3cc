import { Page } from "../../ui/panel.tsx";

export function WhyPage() {
  return (
    <Page title="Why">
      <p>Under construction.</p>
    </Page>
  );
}
