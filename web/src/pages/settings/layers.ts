import type { Place } from "../../api/queries";
import type { SettingRow } from "../../api/types";

/** The layer that a place writes. */
const OWN = { user: "user", agents: "agent", projects: "own_project" } as const;

export function isOwn(row: SettingRow, place: Place): boolean {
  return row.origins.some((origin) => origin.layer === OWN[place.holder]);
}

/** Whether the value is not the shipped one; what a level sets follows from the level. */
export function differs(row: SettingRow): boolean {
  return row.layer !== "level" && JSON.stringify(row.value) !== JSON.stringify(row.about.default);
}

export const LAYER_WORDS: Record<SettingRow["layer"], string> = {
  default: "default", preset: "preset", embedder: "the embedder's measurement", level: "the level", user: "your settings", own_project: "your settings for this project", project: "the project's file", agent: "this agent",
  safety: "safety", environment: "environment", call: "the call",
};

/** Whether something above this place has the last word. */
export function wins(row: SettingRow, place: Place): boolean {
  return row.layer === OWN[place.holder];
}

export function shown(value: unknown): string {
  if (value === null) return "none";
  if (typeof value === "string") return value === "" ? "(empty)" : value;
  if (Array.isArray(value)) return value.length === 0 ? "(none)" : value.join(", ");
  return JSON.stringify(value);
}
