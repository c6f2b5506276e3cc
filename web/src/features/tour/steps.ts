/** The guided tour: each step says what to see, and its deed is done for real, in sessions of one's own. */
import { addresses } from "../../addresses.ts";
import { answered, api, Problem } from "../../api/client.ts";

export const DEMO_AGENT = "harbour-weather";
export const DEMO_PACK = "table-booking";

/** What the steps so far have made. */
export interface Made {
  readonly memory?: string;
  readonly form?: string;
  readonly weather?: string;
  readonly failedRun?: string;
}

export interface Done {
  readonly made: Made;
  readonly goTo: string;
}

export interface Step {
  readonly title: string;
  readonly says: string;
  /** What the button does, as one would say it. */
  readonly deed: string;
  /** What must be there for it: the demo has both. */
  readonly needs?: "agent" | "pack";
  readonly act: (made: Made) => Promise<Done>;
}

export const STEPS: readonly Step[] = [
  {
    title: "A conversation that remembers",
    says: "Every turn is a transaction: what you say, what is learned from it and why are kept together, or not at all. Tell it a fact.",
    deed: "Say: The ferry leaves at six.",
    act: async (made) => {
      const { session_id: memory } = await say({ message: "The ferry leaves at six.", agent: "symbolic" });
      return { made: { ...made, memory }, goTo: addresses.session(memory) };
    },
  },
  {
    title: "Memory",
    says: "The fact is a unit of this session now. Ask for it: the answer comes from memory, with its source. It would tomorrow, too, and on another machine.",
    deed: "Ask: When does the ferry leave?",
    act: async (made) => {
      const { session_id: memory } = await say({ message: "When does the ferry leave?", ...inSession(made.memory) });
      return { made: { ...made, memory }, goTo: addresses.session(memory) };
    },
  },
  {
    title: "A form in a conversation",
    says: "A pack tells what people may want and what each wish needs. Ask for a table: the panel beside the chat shows the intent, that it is locked, and the fields that are missing.",
    deed: "Say: I would like to book a table for four",
    needs: "pack",
    act: async (made) => {
      const { session_id: form } = await say({
        message: "I would like to book a table for four",
        agent: "symbolic",
        pack: DEMO_PACK,
      });
      return { made: { ...made, form }, goTo: addresses.session(form) };
    },
  },
  {
    title: "A clean reset",
    says: "Begin again: the form, the memory and the messages so far go out of reach of every later turn. They stay readable, and the session stays the same.",
    deed: "Reset this session",
    needs: "pack",
    act: async (made) => {
      const id = made.form ?? "";
      await api.POST("/api/v1/sessions/{session_id}/reset", { params: { path: { session_id: id } } });
      return { made, goTo: addresses.session(id) };
    },
  },
  {
    title: "A turn that fails",
    says: "This agent asks a weather station that does not answer. Watch what is left behind: the conversation is as it was before.",
    deed: "Ask: What is the weather at the pier?",
    needs: "agent",
    act: async (made) => {
      const { session_id: weather, run_id: failedRun } = await say({
        message: "What is the weather at the pier?",
        agent: DEMO_AGENT,
      });
      return { made: { ...made, weather, failedRun }, goTo: addresses.session(weather) };
    },
  },
  {
    title: "Why it failed",
    says: "Every run leaves an Explanation, failed ones too: what was asked, which steps ran, what broke, and what to do next.",
    deed: "Show me why",
    needs: "agent",
    act: async (made) => ({ made, goTo: addresses.why(made.weather ?? "", made.failedRun) }),
  },
];

interface Said {
  readonly session_id: string;
  readonly run_id: string;
}

/** A turn that fails is told as a problem that names its session and its run: for the tour it is as good as an answer. */
async function say(body: { message: string; agent?: string; pack?: string; session_id?: string }): Promise<Said> {
  try {
    const told = await answered(api.POST("/api/v1/chat", { body }));
    if ("session_id" in told) return told;
    throw new Error("The server streamed what was not to be streamed.");
  } catch (error) {
    if (
      error instanceof Problem &&
      typeof error.facts.run_id === "string" &&
      typeof error.facts.session_id === "string"
    ) {
      return { session_id: error.facts.session_id, run_id: error.facts.run_id };
    }
    throw error;
  }
}

function inSession(id: string | undefined): { session_id: string } | { agent: string } {
  return id === undefined ? { agent: "symbolic" } : { session_id: id };
}
