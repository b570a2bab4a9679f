/** The stream of new traces, read with fetch so that the page key goes along. One connection for the whole page. */
import { useSyncExternalStore } from "react";
import { hasKey, signedFetch } from "./client";
import { queryClient } from "./queryClient";

let connected = false;
let running = false;
const listeners = new Set<() => void>();

function set(value: boolean) {
  if (connected === value) return;
  connected = value;
  for (const listener of listeners) listener();
}

async function read(): Promise<void> {
  const answer = await signedFetch("/v1/traces/stream", { headers: { Accept: "text/event-stream" } });
  if (!answer.ok || answer.body === null) throw new Error(`status ${answer.status}`);
  set(true);
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
  let pauseMs = 1000;
  while (hasKey()) {
    try {
      await read();
      pauseMs = 1000;
    } catch {
      pauseMs = Math.min(pauseMs * 2, 30_000);
    }
    set(false);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
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
