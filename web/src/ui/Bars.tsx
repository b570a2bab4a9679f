import "./bars.css";
import { Link } from "react-router";

interface Row {
  name: string;
  value: number;
  note?: string;
  color?: string;
  /** Where the rows behind the number are. */
  to?: string;
}

/** Names with numbers, the length of a bar behind each. */
export function Bars({ rows, empty, most }: { rows: Row[]; empty: string; most?: number }) {
  if (rows.length === 0) return empty === "" ? null : <p className="sub">{empty}</p>;
  const top = most ?? Math.max(...rows.map((row) => row.value), 1);
  return (
    <ul className="bars">
      {rows.map((row) => (
        <li key={row.name}>
          <span className="bars-name">
            {row.color !== undefined && <i className="bars-dot" style={{ background: row.color }} aria-hidden />}
            {row.to === undefined ? row.name : <Link to={row.to}>{row.name}</Link>}
          </span>
          <span className="num">{row.note ?? row.value.toLocaleString("en-US")}</span>
          <span className="bars-track" aria-hidden>
            <i style={{ width: `${(row.value / top) * 100}%`, ...(row.color !== undefined && { background: row.color }) }} />
          </span>
        </li>
      ))}
    </ul>
  );
}
