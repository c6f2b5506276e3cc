import { Page } from "../../ui/panel.tsx";

export function ChatPage() {
  return (
    <Page title="Chat">
      <p>Under construction.</p>
    </Page>
  );
}
