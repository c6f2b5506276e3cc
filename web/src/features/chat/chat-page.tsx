import { useParams } from "react-router";
import { useLayout } from "../../api/layout.ts";
import { useSession } from "../../api/sessions.ts";
import { Asked, Loading } from "../../ui/notice.tsx";
import { Chat } from "./chat.tsx";
import { NewChat } from "./new-chat.tsx";
import { useConversation } from "./queries.ts";

/** A session to talk in, or the beginning of one. */
export function ChatPage() {
  const { sessionId } = useParams();
  return sessionId === undefined ? <NewChat /> : <OpenedChat key={sessionId} sessionId={sessionId} />;
}

function OpenedChat({ sessionId }: { readonly sessionId: string }) {
  const session = useSession(sessionId);
  const conversation = useConversation(sessionId);
  const layout = useLayout(sessionId);
  return (
    <Asked query={session} what="Opening the session">
      {(found) => (
        <Asked query={conversation} what="Reading the conversation">
          {(known) =>
            layout.isReady ? <Chat session={found} known={known} layout={layout} /> : <Loading what="Going back" />
          }
        </Asked>
      )}
    </Asked>
  );
}
