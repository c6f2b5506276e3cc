import { useState } from "react";
import { useParams } from "react-router";
import { useLayout } from "../../api/layout.ts";
import type { SessionOut } from "../../api/schema.gen.ts";
import { useSession } from "../../api/sessions.ts";
import { Asked, Loading } from "../../ui/notice.tsx";
import { Chat } from "./chat.tsx";
import type { Conversation } from "./conversation.ts";
import { NewChat } from "./new-chat.tsx";
import { useBackTo, useConversation } from "./queries.ts";

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
            layout.isReady ? (
              <ChatWhereOneWas session={found} known={known} layout={layout} />
            ) : (
              <Loading what="Going back to where you were" />
            )
          }
        </Asked>
      )}
    </Asked>
  );
}

interface ChatWhereOneWasProps {
  readonly session: SessionOut;
  readonly known: Conversation;
  readonly layout: ReturnType<typeof useLayout>;
}

/** Opens at the message that was looked at last; where it stands later does not move the page. */
function ChatWhereOneWas({ session, known, layout }: ChatWhereOneWasProps) {
  const [at] = useState(layout.layout.at);
  const isThere = useBackTo(session.id, at);
  if (!isThere) return <Loading what="Going back to where you were" />;
  return <Chat session={session} known={known} layout={layout} startAt={typeof at === "number" ? at : null} />;
}
