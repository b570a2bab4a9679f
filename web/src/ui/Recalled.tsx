import "./recalled.css";
import type { Series } from "../api/types";
import { Bars } from "./Bars";
import { Panel } from "./Panel";
import { countOf, msOf, wordsOf } from "./words";

/** How long recalls took, surface by surface. */
export function LatencyTable({ rows }: { rows: Series["latency"] }) {
  return (
    <table className="latency">
      <thead>
        <tr>
          <th scope="col">surface</th><th scope="col">recalls</th><th scope="col">p50</th><th scope="col">p95</th><th scope="col">p99</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((one) => (
          <tr key={one.surface}>
            <th scope="row">{wordsOf(one.surface)}</th><td>{countOf(one.count)}</td><td>{msOf(one.p50_ms)}</td><td>{msOf(one.p95_ms)}</td><td>{msOf(one.p99_ms)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The reasons for silence, the most frequent first. */
export function Silences({ of, sub, to, empty }: { of: Series["silences"]; sub: string; to: string; empty: string }) {
  return (
    <Panel title="Why it was silent" sub={sub} to={to}>
      <Bars rows={of.map((one) => ({ name: one.reason, value: one.count }))} empty={empty} />
    </Panel>
  );
}
