import type { Memory } from "../api/types";
import { scopeOf, wordsOf } from "./words";

/** What differs between two versions of a memory besides its words. */
export function differencesOf(before: Memory, after: Memory): string[] {
  const told: [string, string, string][] = [
    ["kind", wordsOf(before.kind), wordsOf(after.kind)],
    ["scope", scopeOf(before.scope), scopeOf(after.scope)],
    ["importance", before.importance.toFixed(2), after.importance.toFixed(2)],
    ["sensitivity", before.sensitivity, after.sensitivity],
    ["pinned", before.pinned ? "yes" : "no", after.pinned ? "yes" : "no"],
    ["applies", before.trigger.phrases.join("; "), after.trigger.phrases.join("; ")],
    ["said by", before.provenance.speaker, after.provenance.speaker],
  ];
  return told.filter(([, was, is]) => was !== is).map(([name, was, is]) => `${name}: ${was === "" ? "nothing" : was} → ${is === "" ? "nothing" : is}`);
}
