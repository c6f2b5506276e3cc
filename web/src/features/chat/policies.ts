/** What becomes of a message that is sent while another one is being answered, in words. */
import type { DoubleText } from "../../api/schema.gen.ts";

export const POLICIES: Readonly<Record<DoubleText, { readonly name: string; readonly says: string }>> = {
  enqueue: {
    name: "Wait in line",
    says: "An answer is under way. Your message waits in line and is answered after it.",
  },
  reject: {
    name: "Refuse",
    says: "An answer is under way. A message is refused until it is there; your text stays here.",
  },
  rollback: {
    name: "Take its place",
    says: "An answer is under way. Your message stops it and takes its place; nothing of it is kept.",
  },
  interrupt: {
    name: "Interrupt",
    says: "An answer is under way. Your message cuts it short; what was said so far stays.",
  },
  merge: {
    name: "Answer as one",
    says: "An answer is under way. If it has not begun to speak, both messages are answered as one; else yours waits in line.",
  },
};

export const DEFAULT_POLICY: DoubleText = "enqueue";
