/** Asks the server: typed by its own OpenAPI, with the cookie of this browser, and every refusal as a Problem. */
import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "./schema.gen.ts";

/** What the server says when it refuses: `code` never changes, `detail` is for people. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly retryable: boolean;
  readonly requestId: string | undefined;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(status: number, facts: Readonly<Record<string, unknown>>) {
    const title = String(facts.title ?? "The server did not answer as it should");
    super(String(facts.detail ?? title));
    this.name = "Problem";
    this.status = status;
    this.code = String(facts.code ?? "unknown");
    this.title = title;
    this.retryable = facts.retryable === true;
    this.requestId = typeof facts.request_id === "string" ? facts.request_id : undefined;
    this.facts = facts;
  }
}

/** The line to the server is cut: nothing was refused, nothing is known. */
export const UNREACHABLE = "unreachable";

let csrf: string | null = null;
let isSameUserStill: () => Promise<boolean> = async () => false;
const onLoggedOut = new Set<() => void>();

/** Changes that this browser asks for carry this; `/me` and `/login` tell it. */
export function keepCsrf(told: string | null | undefined): void {
  csrf = told ?? null;
}

/** Calls `listener` whenever the server no longer knows this browser; returns how to stop that. */
export function whenLoggedOut(listener: () => void): () => void {
  onLoggedOut.add(listener);
  return () => onLoggedOut.delete(listener);
}

/** Calls `ask` when the server knows this browser by another login, made in another tab; true: by the same user. */
export function whenLoginChanged(ask: () => Promise<boolean>): void {
  isSameUserStill = ask;
}

export async function problemOf(response: Response): Promise<Problem> {
  const facts: unknown = await response.json().catch(() => ({}));
  return new Problem(response.status, facts !== null && typeof facts === "object" ? { ...facts } : {});
}

/** Sends what `make` makes; once more if another tab has logged the same user in meanwhile. */
async function send(make: () => Request): Promise<Response> {
  const response = await fetch(marked(make()));
  if (response.status !== 403 || (await problemOf(response.clone())).code !== "csrf_refused") return response;
  return (await isSameUserStill()) ? fetch(marked(make())) : response;
}

function marked(request: Request): Request {
  if (csrf !== null && request.method !== "GET") request.headers.set("X-CSRF-Token", csrf);
  return request;
}

const manners: Middleware = {
  async onResponse({ response }) {
    if (response.ok || response.status === 304) return response;
    if (response.status === 401) for (const listener of onLoggedOut) listener();
    throw await problemOf(response);
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return new Problem(0, {
      code: UNREACHABLE,
      title: "The server cannot be reached",
      detail: "The server cannot be reached. What you see may be out of date; it is tried again.",
      retryable: true,
    });
  },
};

export const api = createClient<paths>({ baseUrl: "", fetch: (request) => send(() => request.clone()) });
api.use(manners);

/** What an operation answered; openapi-fetch leaves it open whether there is something, `manners` throws if not. */
export async function answered<T>(asked: Promise<{ data?: T }>): Promise<T> {
  return (await asked).data as T;
}

/** Asks for what OpenAPI cannot type: a stream, a file. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await send(() => new Request(path, init));
  if (!response.ok) {
    if (response.status === 401) for (const listener of onLoggedOut) listener();
    throw await problemOf(response);
  }
  return response;
}
