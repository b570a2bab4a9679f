import { useKinds } from "../api/queries";
import { wordsOf } from "./words";

const LIFE_WORDS = {
  standing: "holds until it is superseded",
  aging: "ages slowly",
  episodic: "tells what happened; ages fast",
};

/** A memory's kind in words; the color says how it ages. */
export function Kind({ name }: { name: string }) {
  const kind = useKinds().find((row) => row.name === name);
  const life = kind?.standing ? "standing" : kind?.episodic ? "episodic" : "aging";
  // The browser's own tooltip: there are hundreds of these in a list.
  return (
    <span className={`kind kind-${life}`} title={LIFE_WORDS[life]}>
      {wordsOf(name)}
    </span>
  );
}
