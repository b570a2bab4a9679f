/** What a trace says of each candidate: how far it came, what stopped it, what another threshold would do. Pure. */
import type { Replayed, Trace, TracedCandidate } from "../api/types";

export const STAGES = ["signal", "query", "retrieve", "fuse", "score", "guard", "dedupe", "budget", "render", "deliver"] as const;
type Stage = (typeof STAGES)[number];

export const STAGE_WORDS: Record<Stage, string> = {
  signal: "Is the memory to be asked at all? Greetings, muted sessions and machine-made prompts end here.",
  query: "Reads what is about to happen: actions, files, commands, errors.",
  retrieve: "Asks every space for what is close, each by its own measure.",
  fuse: "Puts the rankings of the spaces into one order. Orders, never gates.",
  score: "Turns the evidence into relevance: the chance that handing it over helps.",
  guard: "Checks whether it may come: trust, age, whether it still holds, and whether it is relevant enough.",
  dedupe: "Drops copies, and what the session's context holds already.",
  budget: "Fits what passed into the tokens there are.",
  render: "Writes the block. The same pack gives the same bytes.",
  deliver: "Hands it to the host and notes it in the ledger.",
};

type Fate = "injected" | "gated" | "stopped" | "lost";

export interface Track {
  id: string;
  candidate: TracedCandidate | undefined;
  fate: Fate;
  /** Index into STAGES where it was stopped; the last one when it was injected. */
  until: number;
  reason: string;
  /** What the threshold asked for now would change. */
  now: "same" | "added" | "gone";
  unsure: boolean;
}

/** Every memory that the trace names, the injected first in their order, then by how far it came and relevance. */
export function tracksOf(trace: Trace, replayed: Replayed | undefined): Track[] {
  const stops = new Map<string, { until: number; reason: string; gated: boolean }>();
  for (const stage of trace.stages)
    for (const drop of stage.drops) {
      if (drop.memory_id !== "") stops.set(drop.memory_id, { until: STAGES.indexOf(stage.stage as Stage), reason: drop.reason, gated: drop.why?.cause === "below_threshold" });
    }
  const candidates = new Map(trace.candidates.map((one) => [one.memory_id, one]));
  const names = new Set([...trace.injected, ...candidates.keys(), ...stops.keys()]);
  const added = new Set(replayed?.added);
  const gone = new Set(replayed?.gone);
  const unsure = new Set(replayed?.unsure);
  const tracks = [...names].map((id): Track => {
    const stop = stops.get(id);
    const injected = trace.injected.includes(id);
    const candidate = candidates.get(id);
    const gated = stop?.gated ?? false;
    return {
      id,
      candidate,
      fate: injected ? "injected" : gated ? "gated" : stop !== undefined ? "stopped" : "lost",
      until: injected ? STAGES.length - 1 : (stop?.until ?? lastKept(trace, id)),
      reason: injected ? "" : (stop?.reason ?? reasonOfLost(trace)),
      now: added.has(id) ? "added" : gone.has(id) ? "gone" : "same",
      unsure: unsure.has(id),
    };
  });
  const place = new Map(trace.injected.map((id, at) => [id, at]));
  return tracks.sort(
    (a, b) =>
      (place.get(a.id) ?? 1e6) - (place.get(b.id) ?? 1e6) ||
      (b.candidate?.relevance ?? -1) - (a.candidate?.relevance ?? -1) ||
      b.until - a.until ||
      a.id.localeCompare(b.id),
  );
}

function lastKept(trace: Trace, id: string): number {
  return trace.stages.reduce((far, stage) => (stage.kept.includes(id) ? Math.max(far, STAGES.indexOf(stage.stage as Stage)) : far), 2);
}

function reasonOfLost(trace: Trace): string {
  return trace.silence !== "" ? trace.silence : "left out";
}

export interface StageView {
  name: Stage;
  tookMs: number;
  ran: boolean;
  kept: number;
  dropped: number;
  notes: string[];
}

export function stagesOf(trace: Trace): StageView[] {
  return STAGES.map((name) => {
    const record = trace.stages.find((stage) => stage.stage === name);
    return { name, tookMs: record?.took_ms ?? 0, ran: record !== undefined, kept: record?.kept.length ?? 0, dropped: record?.drops.length ?? 0, notes: record?.notes ?? [] };
  });
}
