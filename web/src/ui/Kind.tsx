const STANDING = new Set(["identity", "preference", "correction", "anti_pattern", "decision", "guideline"]);
const EPISODIC = new Set(["todo", "outcome", "event", "observation", "digest"]);
const PREFIX: Record<string, string> = {
  identity: "ID", preference: "PREF", correction: "CORR", anti_pattern: "ANTI", decision: "DEC", goal: "GOAL", todo: "TODO",
  fact: "FACT", file_context: "FILE", error_pattern: "ERR", research: "RES", outcome: "OUT", event: "EVT", observation: "OBS",
  guideline: "GUIDE", digest: "DIG",
};

export const KINDS = Object.keys(PREFIX);

export function lifeOf(kind: string): "standing" | "episodic" | "aging" {
  return STANDING.has(kind) ? "standing" : EPISODIC.has(kind) ? "episodic" : "aging";
}

const ABOUT = {
  standing: "holds until it is superseded",
  aging: "ages slowly",
  episodic: "tells what happened; ages fast",
};

/** A memory's kind as a small mark; the colour says how it ages. */
export function Kind({ name }: { name: string }) {
  const life = lifeOf(name);
  // The browser's own tooltip: there are hundreds of these in a list.
  return (
    <span className={`kind kind-${life}`} title={`${name.replaceAll("_", " ")}: ${ABOUT[life]}`}>
      {PREFIX[name] ?? name.slice(0, 5).toUpperCase()}
    </span>
  );
}
