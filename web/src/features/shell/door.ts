import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { whenLoggedOut, whenLoginChanged } from "../../api/client.ts";
import { isSameUser, letIn, ME, whenToldByAnotherTab } from "../../api/door.ts";
import { whoIsHere } from "../../api/me.ts";
import type { MeOut } from "../../api/schema.gen.ts";

/** Notices when the server no longer knows this browser, or when another tab made it somebody else's. */
export function useDoor(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const look = async () => {
      const before = queries.getQueryData<MeOut | null>(ME);
      const now = await whoIsHere();
      letIn(queries, now);
      return isSameUser(before, now);
    };
    whenLoginChanged(look);
    const deaf = whenToldByAnotherTab(() => void look().catch(() => {}));
    const blind = whenLoggedOut(() => letIn(queries, null));
    return () => {
      deaf();
      blind();
    };
  }, [queries]);
}
