/** How the page says numbers, times and names. */

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const plainDay = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit" });

export const timeOf = (ms: number): string => clock.format(ms);
export const dayOf = (ms: number): string => day.format(ms);
export const dateOf = (ms: number): string => plainDay.format(ms);
export const whenOf = (ms: number): string => full.format(ms);

/** "4 min ago": for the eye only; the exact time stands beside it or in the tooltip. */
export function agoOf(ms: number, now = Date.now()): string {
  const seconds = Math.max(0, (now - ms) / 1000);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

export function msOf(value: number): string {
  if (value >= 1000) return `${(value / 1000).toFixed(2)} s`;
  if (value >= 10) return `${value.toFixed(0)} ms`;
  if (value >= 1) return `${value.toFixed(1)} ms`;
  return `${value.toFixed(2)} ms`;
}

export function bytesOf(value: number): string {
  if (value >= 1 << 20) return `${(value / (1 << 20)).toFixed(1)} MB`;
  if (value >= 1 << 10) return `${(value / (1 << 10)).toFixed(0)} kB`;
  return `${value} B`;
}

export const percentOf = (share: number): string => `${Math.round(share * 100)} %`;
export const countOf = (value: number): string => value.toLocaleString("en-US");
export const wordsOf = (name: string): string => name.replaceAll("_", " ");

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countOf(count)} ${count === 1 ? one : many}`;
}

const STARTS: Record<string, string> = { "": "a session starts", startup: "a session starts", resume: "a session goes on", clear: "after the conversation was cleared", compact: "after the conversation was compacted", fork: "a session branches off" };

/** What a recall was asked with: its text, or in words how the session started. */
export const askedOf = (surface: string, text: string): string => (surface === "start" || surface === "compaction" ? (STARTS[text] ?? text) : text);

/** `project:shop-4fb2…` -> `shop`; the rest as it is. */
export function scopeOf(scope: string): string {
  const [kind = "", ...rest] = scope.split(":");
  const key = rest.join(":");
  if (kind === "project") return key.replace(/-[0-9a-f]{6,}$/, "").split("/").at(-1) ?? key;
  return key === "" ? kind : `${kind}: ${key}`;
}

const SPEAKERS: Record<string, string> = { user: "you", teammate: "a teammate", assistant: "an agent", agent: "an agent", tool: "a tool", import: "an import" };

/** Who said a statement, in the words of every page. */
export const speakerOf = (name: string): string => SPEAKERS[name] ?? name;
