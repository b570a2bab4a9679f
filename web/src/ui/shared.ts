/** Memories that a team shares through a server: which they are, and how the page names their origin. */
import type { KnownTeam, Memory } from "../api/types";
import { dateOf } from "./words";

const TEAM = "team ";

/** The team that a memory came from; "" = none, or the user made it their own. */
export function teamOf({ provenance }: Memory): string {
  return provenance.source.startsWith(TEAM) && provenance.tier !== "user" ? provenance.source.slice(TEAM.length) : "";
}

/** "teammate Ana Ruiz, team acme/core, 2026-11-26"; "" for what came from no team. */
export function originOf(memory: Memory): string {
  const team = teamOf(memory);
  if (team === "") return "";
  const who = memory.provenance.author === "" ? "a teammate" : `teammate ${memory.provenance.author}`;
  return `${who}, team ${team}, ${dateOf(memory.validity.valid_from_ms)}`;
}

/** The joined team that shares a memory, or shares what it says in the user's own words. */
export function sharedWith(memory: Memory, known: readonly KnownTeam[]): KnownTeam | undefined {
  const team = teamOf(memory);
  return known.find((one) => (team === "" ? one.own.includes(memory.id) : one.team === team));
}
