/** Short messages in the corner; those about a change carry their own Undo. */
import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useSyncExternalStore } from "react";
import { api, body, ProblemError } from "../api/client";

export function sayProblem(error: unknown): void {
  const problem = error instanceof ProblemError ? error.problem : undefined;
  notifications.show({
    color: "red",
    title: problem?.detail ?? "Something failed in this page",
    message: problem?.hint ?? String(error),
    autoClose: 12_000,
  });
}

export function say(title: string, message = ""): void {
  notifications.show({ title, message, color: "pine", autoClose: 5_000 });
}

/** What this page changed in one step: one change of the store, or one for each memory. Changes of others are never taken back from here. */
interface OwnChange {
  ids: string[];
  title: string;
}

const STORED = "tacit.changes";
const MOST = 100;
let own = stored();
const listeners = new Set<() => void>();
let changed: () => void = () => undefined;

function stored(): OwnChange[] {
  try {
    return JSON.parse(sessionStorage.getItem(STORED) ?? "[]") as OwnChange[];
  } catch {
    return [];
  }
}

function keep(next: OwnChange[]): void {
  own = next.slice(-MOST);
  sessionStorage.setItem(STORED, JSON.stringify(own));
  for (const listener of listeners) listener();
}

/** What to renew after a change was taken back. */
export function onTakenBack(listener: () => void): void {
  changed = listener;
}

/** The last change that this page made and did not take back. */
export function useLastOwnChange(): OwnChange | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => own.at(-1),
  );
}

/** Say that something was changed, with a button that takes back exactly this. */
export function sayChanged(title: string, changed: string | string[] | null, message = ""): void {
  const change = { ids: changed === null ? [] : [changed].flat(), title };
  if (change.ids.length === 0) return say(title, message);
  keep([...own, change]);
  show(title, message, "Undo", () => takeBack(change));
}

function show(title: string, message: string, button: string, act: () => Promise<void>): void {
  const id = notifications.show({
    title,
    color: "pine",
    autoClose: 10_000,
    message: (
      <>
        {message !== "" && <span>{message} </span>}
        <Button size="compact-xs" variant="default" onClick={() => { notifications.hide(id); void act(); }}>
          {button}
        </Button>
      </>
    ),
  });
}

/** Take this back, and nothing else; what somebody changed since stays as it is, and is said. */
export async function takeBack(change: OwnChange, memory?: string): Promise<void> {
  keep(own.filter((one) => one.ids[0] !== change.ids[0]));
  const undone = await undo(change.ids, memory);
  if (undone.length > 0) show(undone.length === change.ids.length ? "Taken back" : `Taken back: ${undone.length} of ${change.ids.length}`, change.title, "Do it again", () => doAgain({ ids: undone, title: change.title }));
}

async function doAgain({ ids, title }: OwnChange): Promise<void> {
  const undone = await undo(ids);
  if (undone.length > 0) sayChanged(title, undone);
}

/** Undo changes, the last one first; the changes that did so. The first refusal is said. */
async function undo(ids: string[], memory?: string): Promise<string[]> {
  const undone: string[] = [];
  const refused: unknown[] = [];
  for (const id of [...ids].reverse()) {
    try {
      const { change_id } = await body(api.POST("/v1/undo", { body: { id, keep_both: false, memory: memory ?? null } }));
      undone.push(change_id ?? "");
    } catch (error) {
      refused.push(error);
    }
  }
  changed();
  if (refused.length > 0) sayProblem(refused[0]);
  return undone;
}

export async function takeBackLast(): Promise<void> {
  const last = own.at(-1);
  if (last === undefined) say("Nothing to take back", "This page has changed nothing that it has not taken back.");
  else await takeBack(last);
}

/** A text short enough for a message. */
export function briefOf(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57).trimEnd()}...`;
}
