import type { Evidence } from "../api/types";

const MOST = 1.5;

/** What speaks for a memory, all on one scale: a bar for each sort of evidence, and a line at the level that few memories reach which nobody needs. */
export function EvidenceBars({ evidence }: { evidence: readonly Evidence[] }) {
  if (evidence.length === 0) return null;
  return (
    <table className="evidence">
      <caption>The line: only 1 in 20 memories that nobody needs come this near.</caption>
      <tbody>
        {evidence.map(({ sort, text, share }) => (
          <tr key={sort}>
            <th scope="row">{text}</th>
            <td className="evidence-bar" aria-hidden>
              <i data-near={share >= 1 || undefined} style={{ width: `${(share / MOST) * 100}%` }} />
              <b style={{ left: `${100 / MOST}%` }} />
            </td>
            <td>{share === 0 ? "none" : share < 0.5 ? "far" : share < 1 ? "some" : "near"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
