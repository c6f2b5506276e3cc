import { Page } from "../../ui/panel.tsx";

export function TourPage() {
  return (
    <Page title="Tour">
      <p>Under construction.</p>
    </Page>
  );
}
