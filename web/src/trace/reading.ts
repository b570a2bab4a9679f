/** What a trace says of each candidate: how far it came, what stopped it, what another threshold would do. Pure. */
import type { Replayed, Space, Trace, TracedCandidate } from "../api/types";

export const STAGES = ["signal", "query", "retrieve", "fuse", "score", "guard", "dedupe", "budget", "render", "deliver"] as const;
export type Stage = (typeof STAGES)[number];

export const STAGE_WORDS: Record<Stage, string> = {
  signal: "Is the memory to be asked at all? Greetings, muted sessions and machine-made prompts end here.",
  query: "Reads what is about to happen: actions, files, commands, errors.",
  retrieve: "Asks every space for what is close, each by its own measure.",
  fuse: "Puts the rankings of the spaces into one order. Orders, never gates.",
  score: "Turns the evidence into relevance: the chance that handing it over helps.",
  guard: "Trust, validity, freshness and the threshold. Below it: silence.",
  dedupe: "Drops copies, and what the session's context holds already.",
  budget: "Fits what passed into the tokens there are.",
  render: "Writes the block. The same pack gives the same bytes.",
  deliver: "Hands it to the host and notes it in the ledger.",
};

const FAMILIES: readonly Space["family"][] = ["meaning", "words", "situation", "things", "time"];

/** The spaces by name; one that the daemon does not know any more (of an old trace) stands under its own name. */
export function spaceOf(name: string, known: readonly Space[]): Pick<Space, "family" | "summary"> {
  return known.find((space) => space.name === name) ?? { family: "time", summary: "" };
}

export type Fate = "injected" | "gated" | "stopped" | "lost";

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

/** Highest score of each space among the candidates: evidence is shown against it, because spaces share no scale. */
export function bestBySpace(trace: Trace): Map<string, number> {
  const best = new Map<string, number>();
  for (const candidate of trace.candidates)
    for (const [space, score] of candidate.scores) best.set(space, Math.max(best.get(space) ?? 0, score));
  return best;
}

/** The spaces that measured anything here, in the page's fixed order. */
export function spacesOf(trace: Trace, known: readonly Space[]): string[] {
  const best = bestBySpace(trace);
  const ordered = FAMILIES.flatMap((family) => known.filter((space) => space.family === family).map((space) => space.name));
  return [...ordered.filter((space) => best.has(space)), ...[...best.keys()].filter((space) => !ordered.includes(space))];
}

export interface StageView {
  name: Stage;
  tookMs: number;
  ran: boolean;
  kept: number;
  dropped: number;
  notes: string[];
  /** Milliseconds after the beginning, counting stages only. */
  beginMs: number;
}

export function stagesOf(trace: Trace): StageView[] {
  let beginMs = 0;
  return STAGES.map((name) => {
    const record = trace.stages.find((stage) => stage.stage === name);
    const view = {
      name,
      tookMs: record?.took_ms ?? 0,
      ran: record !== undefined,
      kept: record?.kept.length ?? 0,
      dropped: record?.drops.length ?? 0,
      notes: record?.notes ?? [],
      beginMs,
    };
    beginMs += view.tookMs;
    return view;
  });
}

/** How many came out of each stage; where it keeps no list (before candidates exist), none. */
export function whereItEnded(trace: Trace): Stage | undefined {
  if (trace.injected.length > 0) return undefined;
  const last = trace.stages.at(-1);
  const whole = trace.stages.find((stage) => stage.drops.some((drop) => drop.memory_id === ""));
  return (whole ?? last)?.stage as Stage | undefined;
}

const FAMILY_WORDS: Record<Space["family"], string> = { meaning: "meaning", words: "words", situation: "moment of the work", things: "name, file or command", time: "" };
const NEAR_SHARE = 0.5;

/** The whole trace in one sentence: what came of it, by which numbers, and what the nearest memory has in common with what was asked. */
export function sentenceOf(trace: Trace, known: readonly Space[]): string {
  const best = trace.candidates.reduce<TracedCandidate | undefined>((first, one) => (first === undefined || one.relevance > first.relevance ? one : first), undefined);
  const looked = trace.stats.memories_considered;
  if (trace.injected.length > 0)
    return `Given: ${trace.injected.length} of ${looked} memories that were looked at; the surest reached ${(best?.relevance ?? 0).toFixed(2)}, where ${trace.threshold.toFixed(2)} is needed.`;
  const gated = trace.stages.some((stage) => stage.drops.some((drop) => drop.why?.cause === "below_threshold"));
  if (best === undefined || best.relevance >= trace.threshold || !gated) return `Silent: ${trace.silence === "" ? "nothing was given" : trace.silence}.`;
  const { has, lacks } = sharedBy(best, trace, known);
  const common = [...(has.length > 0 ? [`is near in ${has.join(" and ")}`] : []), ...(lacks.length > 0 ? [`shares no ${lacks.join(" and no ")}`] : [])];
  return `Silent: the nearest of ${looked} memories reached ${best.relevance.toFixed(2)} of the ${trace.threshold.toFixed(2)} that are needed${common.length > 0 ? `; it ${common.join(", but ")}` : ""}.`;
}

/** In what a candidate is near to what was asked, and in what not at all. Near = at least half of the way to the space's own high mark. */
function sharedBy(candidate: TracedCandidate, trace: Trace, known: readonly Space[]): { has: string[]; lacks: string[] } {
  const scores = new Map(candidate.scores);
  const families = new Map<Space["family"], number>();
  for (const space of known) {
    const score = Math.max(0, scores.get(space.name) ?? 0);
    families.set(space.family, Math.max(families.get(space.family) ?? 0, score / Math.max(space.high, 1e-9)));
  }
  const asked = [...families].filter(([family]) => FAMILY_WORDS[family] !== "" && !(family === "meaning" && trace.text === ""));
  return {
    has: asked.filter(([, share]) => share >= NEAR_SHARE).map(([family]) => FAMILY_WORDS[family]),
    lacks: asked.filter(([, share]) => share === 0).map(([family]) => FAMILY_WORDS[family]),
  };
}
