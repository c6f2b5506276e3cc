/** What can be done with the lines of a conversation. */
import type { MessageOut } from "../../api/schema.gen.ts";
import type { Approval, Attempt } from "./conversation.ts";

/** The run that answered a message in the session it was said in. */
export interface Origin {
  readonly sessionId: string;
  readonly runId: string;
  readonly agent: string;
}

export interface ChatActions {
  readonly onEditBegun?: (message: MessageOut) => void;
  /** Say the same again, as a new request. */
  readonly onRetried?: (run: Attempt) => void;
  readonly onStopped?: (run: Attempt) => void;
  /** Who answered it, where a fork has it from another session. */
  readonly originOf: (message: MessageOut) => Origin | undefined;
  readonly approvalOf: (run: Attempt) => Approval | undefined;
  readonly onDecided: (approval: Approval, decision: "approve" | "reject") => Promise<void>;
}
