import { Page } from "../../ui/panel.tsx";

export function Home() {
  return (
    <Page title="Welcome">
      <p>Under construction.</p>
    </Page>
  );
}
