import { useParams } from "react-router";
import { may, useMe } from "../../api/me.ts";
import { useSession } from "../../api/sessions.ts";
import { Asked } from "../../ui/notice.tsx";
import { Page } from "../../ui/panel.tsx";
import { Inheritance } from "./inheritance-panel.tsx";
import { Mounts } from "./mounts.tsx";
import { Outputs } from "./outputs.tsx";
import { Tools } from "./tools.tsx";

/** What a session may reach and what holds for it, each with the layer that gave it; and what came out of it. */
export function ScopePage() {
  const { sessionId = "" } = useParams();
  const me = useMe();
  const session = useSession(sessionId);
  return (
    <Page isTab title="Scope">
      <p className="soft">
        A session reaches only what is mounted to it. The layers above it, its tenant, project and objective, give it
        what they agreed on; it may pin more, and remove what it does not want.
      </p>
      <Asked query={session} what="Reading the scope">
        {(found) => {
          const isLive = found.status === "active" || found.status === "paused";
          const mayWrite = may(me.data, "sessions:write") && isLive;
          return (
            <>
              <Mounts session={found} mayWrite={mayWrite} />
              <Inheritance session={found} mayWrite={mayWrite} />
              <Tools session={found} />
              <Outputs sessionId={sessionId} />
            </>
          );
        }}
      </Asked>
    </Page>
  );
}
