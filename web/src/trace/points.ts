import type { Evidence } from "../api/types";

/** The points that are needed. */
export const NEEDED = 100;

/** How many points a memory reached; undefined = nothing was summed. */
export function pointsOf(evidence: readonly Evidence[]): number | undefined {
  return evidence.length === 0 ? undefined : evidence.reduce((all, part) => all + part.points, 0);
}
