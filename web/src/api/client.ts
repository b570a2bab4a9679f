/** The one way to the daemon: adds the page key, turns problems into errors, says when the sign-in is over. */
import createClient, { type Middleware } from "openapi-fetch";
import { useSyncExternalStore } from "react";
import type { paths } from "./schema";

const KEY = "tacit.page-key";

interface Problem {
  code: string;
  title: string;
  status: number;
  detail: string;
  hint: string;
}

/** What the daemon refused, in its own words. */
export class ProblemError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.problem = problem;
  }
}

/** Whether the daemon judged what was asked and said no, so that the same words will not fare better. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ProblemError && error.problem.status >= 400 && error.problem.status < 500;
}

const listeners = new Set<() => void>();

export function onSignedOut(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Called when another tab signed in: what it got lets this tab in, too. */
export function onSignedInElsewhere(listener: () => void): () => void {
  const listen = (event: StorageEvent) => {
    if (event.key === KEY && event.newValue !== null) listener();
  };
  window.addEventListener("storage", listen);
  return () => window.removeEventListener("storage", listen);
}

let answering = true;
const watchers = new Set<() => void>();

/** Note whether the daemon answered the last time it was asked. */
export function noteAnswer(answered: boolean): void {
  if (answering === answered) return;
  answering = answered;
  for (const watcher of watchers) watcher();
}

/** Whether the daemon answers, as far as is known. */
export function useAnswering(): boolean {
  return useSyncExternalStore(onAnswering, () => answering);
}

function onAnswering(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export const pageKey = (): string | null => localStorage.getItem(KEY);

export const hasKey = (): boolean => pageKey() !== null;

/** Exchange the code in the address for a session; the code leaves the address and the history at once. */
export async function signIn(): Promise<boolean> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code === null) return hasKey();
  history.replaceState(null, "", location.pathname + location.search);
  const answer = await fetch("/ui/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (!answer.ok) return false;
  const { key } = (await answer.json()) as { key: string };
  localStorage.setItem(KEY, key);
  return true;
}

/** Drop the key that was refused, unless another tab put a new one in its place meanwhile. */
export function forgetKey(refused = pageKey()): void {
  if ((pageKey() ?? "") !== (refused ?? "")) return;
  localStorage.removeItem(KEY);
  for (const listener of listeners) listener();
}

/** As `fetch`, with the page key. For streams; everything else goes through `api`. */
export function signedFetch(input: Request | string, init: RequestInit = {}): Promise<Response> {
  const request = new Request(input, init);
  request.headers.set("X-Tacit-Key", pageKey() ?? "");
  return fetch(request);
}

const unavailable: Problem = {
  code: "daemon_unavailable",
  title: "The daemon does not answer",
  status: 0,
  detail: "The daemon does not answer; it leaves by itself when nobody asks for long.",
  hint: "Run `tacit ui` again.",
};


const middleware: Middleware = {
  onRequest({ request }) {
    request.headers.set("X-Tacit-Key", pageKey() ?? "");
    return request;
  },
  async onResponse({ request, response }) {
    noteAnswer(true);
    if (response.ok || response.status === 304) return response;
    const problem = await problemOf(response);
    if (response.status === 401) forgetKey(request.headers.get("X-Tacit-Key"));
    throw new ProblemError(problem);
  },
  onError() {
    noteAnswer(false);
    return new ProblemError(unavailable);
  },
};

async function problemOf(response: Response): Promise<Problem> {
  try {
    return (await response.json()) as Problem;
  } catch {
    return { code: "internal", title: response.statusText, status: response.status, detail: `Status ${response.status}.`, hint: "" };
  }
}

export const api = createClient<paths>({
  baseUrl: location.origin,
  querySerializer: { array: { style: "form", explode: true } },
});
api.use(middleware);

/** All rows of a list that comes part by part; `part` is asked with where to go on. */
export async function allOf<P extends { next_cursor: string | null }, T>(part: (more: { cursor?: string }) => Promise<P>, rows: (of: P) => readonly T[]): Promise<T[]> {
  const all: T[] = [];
  let more: { cursor?: string } | null = {};
  while (more !== null) {
    const last: P = await part(more);
    all.push(...rows(last));
    more = last.next_cursor === null ? null : { cursor: last.next_cursor };
  }
  return all;
}

/** The body of an answer; problems were thrown before. */
export async function body<T>(asked: Promise<{ data?: T }>): Promise<T> {
  const { data } = await asked;
  return data as T;
}
