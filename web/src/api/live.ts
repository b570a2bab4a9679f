/** The stream of new traces, read with fetch so that the page key goes along. One connection for the whole page.

While the daemon is gone, the stream is what finds it again.
*/
import { useSyncExternalStore } from "react";
import { forgetKey, hasKey, noteAnswer, pageKey, signedFetch } from "./client";
import { queryClient } from "./queryClient";

const PAUSE_MS = 1500; // on loopback a refused connection costs next to nothing

let connected = false;
let opened = false;
let running = false;
const listeners = new Set<() => void>();

function set(value: boolean) {
  if (connected === value) return;
  connected = value;
  for (const listener of listeners) listener();
}

async function read(): Promise<void> {
  const key = pageKey();
  const answer = await signedFetch("/v1/traces/stream", { headers: { Accept: "text/event-stream" } }).catch((error: unknown) => {
    noteAnswer(false);
    throw error;
  });
  noteAnswer(true);
  if (answer.status === 401) forgetKey(key);
  if (!answer.ok || answer.body === null) throw new Error(`status ${answer.status}`);
  set(true);
  if (opened) void queryClient.invalidateQueries(); // what happened in between
  opened = true;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const events = rest.split(/\r?\n\r?\n/);
    rest = events.pop() ?? "";
    if (events.some((event) => /^event: ?trace/m.test(event))) announce();
  }
}

let due = 0;
function announce() {
  // Many traces come at once when an agent works; the page asks once a second at most.
  if (due !== 0) return;
  due = window.setTimeout(() => {
    due = 0;
    for (const key of ["traces", "timeline", "status", "sessions", "learned"]) void queryClient.invalidateQueries({ queryKey: [key] });
  }, 700);
}

async function keepReading(): Promise<void> {
  while (hasKey()) {
    await read().catch(() => undefined);
    set(false);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  running = false;
}

/** Whether the stream is open. */
export function useLive(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      if (!running) {
        running = true;
        void keepReading();
      }
      return () => listeners.delete(listener);
    },
    () => connected,
  );
}
