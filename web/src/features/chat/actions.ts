/** What can be done with the lines of a conversation. */
import type { MessageOut } from "../../api/schema.gen.ts";
import type { Approval, Attempt } from "./conversation.ts";

export interface ChatActions {
  readonly onEditBegun?: (message: MessageOut) => void;
  /** Say the same again, as a new request. */
  readonly onRetried?: (run: Attempt) => void;
  readonly onStopped?: (run: Attempt) => void;
  readonly approvalOf: (run: Attempt) => Approval | undefined;
  readonly onDecided: (approval: Approval, decision: "approve" | "reject") => Promise<void>;
}
