import type { Evidence } from "../api/types";
import { NEEDED, pointsOf } from "./points";

/** What adds up to a memory's relevance: a bar for each part, to the right what speaks for it, to the left what speaks against it, and their sum. */
export function EvidenceBars({ evidence }: { evidence: readonly Evidence[] }) {
  const sum = pointsOf(evidence);
  if (sum === undefined) return null;
  const most = Math.max(NEEDED, ...evidence.map((part) => Math.abs(part.points)));
  return (
    <table className="evidence">
      <caption>What adds up to its relevance; {NEEDED} points are needed.</caption>
      <tbody>
        {[...evidence]
          .sort((a, b) => b.points - a.points)
          .map(({ name, text, points }) => (
            <tr key={name}>
              <th scope="row">{text}</th>
              <td className="evidence-bar" aria-hidden>
                <i data-against={points < 0 || undefined} style={{ [points < 0 ? "right" : "left"]: "50%", width: `${(Math.abs(points) / most) * 50}%` }} />
              </td>
              <td className="num">{points > 0 ? `+${points}` : points}</td>
            </tr>
          ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">together</th>
          <td />
          <td className="num">
            {sum} of {NEEDED}
          </td>
        </tr>
      </tfoot>
    </table>
  );
}
