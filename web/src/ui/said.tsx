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

/** A change that this page made. Changes of others are never taken back from here. */
interface OwnChange {
  id: string;
  title: string;
}

const STORED = "tacit.own-changes";
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

/** Say that something was changed, with a button that takes back exactly this change. */
export function sayChanged(title: string, changeId: string | null, message = ""): void {
  if (changeId === null) return say(title, message);
  keep([...own, { id: changeId, title }]);
  show(title, message, "Undo", () => takeBack({ id: changeId, title }));
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

/** Take one change back; a change that somebody made to the same memory since is named, not overwritten. */
export async function takeBack(change: OwnChange, memory?: string): Promise<void> {
  keep(own.filter((one) => one.id !== change.id));
  try {
    const { change_id } = await body(api.POST("/v1/undo", { body: { id: change.id, keep_both: false, memory: memory ?? null } }));
    const again = { id: change_id ?? "", title: change.title };
    changed();
    show("Taken back", change.title, "Do it again", () => doAgain(again));
  } catch (error) {
    sayProblem(error);
  }
}

async function doAgain(undone: OwnChange): Promise<void> {
  try {
    const { change_id } = await body(api.POST("/v1/undo", { body: { id: undone.id, keep_both: false, memory: null } }));
    changed();
    sayChanged(undone.title, change_id);
  } catch (error) {
    sayProblem(error);
  }
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
