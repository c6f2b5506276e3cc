/** Where every node stands, and which part of that is seen first. */

/** Nodes are all of one size, so that none has to be measured. */
export const NODE_WIDTH = 196;
export const NODE_HEIGHT = 56;

export interface Place {
  readonly x: number;
  readonly y: number;
}

export interface Plan {
  /** The upper left corner of each node. */
  readonly places: Readonly<Record<string, Place>>;
  readonly width: number;
  readonly height: number;
}

/** Below this zoom one could not read the nodes. */
export const READABLE = 0.6;

interface Box {
  readonly width: number;
  readonly height: number;
}

type View = Place & { readonly zoom: number };

/** All of it where that can be read; else the part around `at`, from the top if it is near there. */
export function firstView(plan: Plan, box: Box, at: string | undefined): View {
  const whole = wholeView(plan, box);
  if (whole.zoom >= READABLE) return { ...whole, y: 0 };
  const place = plan.places[at ?? ""] ?? { x: 0, y: 0 };
  const zoom = 0.85;
  const middle = box.height / 2 - (place.y + NODE_HEIGHT / 2) * zoom;
  return { zoom, x: box.width / 2 - (place.x + NODE_WIDTH / 2) * zoom, y: Math.min(0, middle) };
}

/** All of it, in the middle, and never larger than it is. */
export function wholeView(plan: Plan, box: Box): View {
  const zoom = Math.min(box.width / plan.width, box.height / plan.height, 1);
  return { zoom, x: (box.width - plan.width * zoom) / 2, y: (box.height - plan.height * zoom) / 2 };
}
