import type { LevelRow } from "../../api/types";
import { percentOf } from "../../ui/words";

/** What each level brings, as measured on projects left out, or on this store where it was tuned: how near a memory must come, how many are right, the cost of a prompt, and how many prompts that need nothing get something. */
export function Levels({ levels, chosen }: { levels: LevelRow[]; chosen: string }) {
  return (
    <table className="levels" aria-label="Levels">
      <thead>
        <tr>
          <th scope="col">level</th>
          <th scope="col">needs</th>
          <th scope="col">right</th>
          <th scope="col">tokens a prompt</th>
          <th scope="col">for nothing</th>
        </tr>
      </thead>
      <tbody>
        {levels.map((level) => (
          <tr key={level.name} data-chosen={level.name === chosen || undefined}>
            <th scope="row">{level.tuned ? `${level.name}, tuned` : level.name}</th>
            <td className="num">{level.threshold.toFixed(2)}</td>
            <td className="num">{level.precision === null ? "-" : percentOf(level.precision)}</td>
            <td className="num">{level.tokens === null ? "-" : level.tokens.toFixed(0)}</td>
            <td className="num">{level.wrongful === null ? "-" : percentOf(level.wrongful)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
