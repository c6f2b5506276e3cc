import { Page } from "../../ui/panel.tsx";

export function ArtifactsPage() {
  return (
    <Page title="Artifacts">
      <p>Under construction.</p>
    </Page>
  );
}
