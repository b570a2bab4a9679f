import "./rows.css";
import type { ReactNode } from "react";

/** A table of things, one a row; `acts` = its last column holds buttons, which need no heading that is seen. */
export function Rows({ name, columns, acts = false, wide = false, children }: { name: string; columns: readonly string[]; acts?: boolean; wide?: boolean; children: ReactNode }) {
  return (
    <table className={wide ? "rows rows-wide" : "rows"} aria-label={name}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col" key={column}>
              {column}
            </th>
          ))}
          {acts && (
            <th scope="col">
              <span className="unseen">what you can do</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
