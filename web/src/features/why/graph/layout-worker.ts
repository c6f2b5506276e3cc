/** Lays out a graph away from the page, which stays free meanwhile. */
import type { GraphOut } from "../../../api/schema.gen.ts";
import { layOut } from "./layout.ts";

self.onmessage = (asked: MessageEvent<Pick<GraphOut, "nodes" | "edges">>) => {
  self.postMessage(layOut(asked.data));
};
