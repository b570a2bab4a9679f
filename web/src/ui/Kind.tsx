import { useKinds } from "../api/queries";
import type { KindRow } from "../api/types";

export function lifeOf(kind: KindRow | undefined): "standing" | "episodic" | "aging" {
  return kind?.standing ? "standing" : kind?.episodic ? "episodic" : "aging";
}

const LIFE_WORDS = {
  standing: "holds until it is superseded",
  aging: "ages slowly",
  episodic: "tells what happened; ages fast",
};

/** A memory's kind as a small mark; the color says how it ages. */
export function Kind({ name }: { name: string }) {
  const kind = useKinds().find((row) => row.name === name);
  const life = lifeOf(kind);
  // The browser's own tooltip: there are hundreds of these in a list.
  return (
    <span className={`kind kind-${life}`} title={`${name.replaceAll("_", " ")}: ${LIFE_WORDS[life]}`}>
      {kind?.prefix || name.slice(0, 5).toUpperCase()}
    </span>
  );
}
