import type { ReactNode } from "react";
import { Link } from "react-router";

/** One thing on a page, with its name and what it is; `says` is what a chart in it shows, for whoever cannot see it. */
export function Panel({ title, sub, says, to, className = "", children }: {
  title: string;
  sub?: string;
  says?: string;
  /** Where the rows behind it are. */
  to?: string;
  className?: string;
  children: ReactNode;
}) {
  return (
    <section className={`panel ${className}`} aria-label={says === undefined ? title : `${title}: ${says}`}>
      <h2>{to === undefined ? title : <Link to={to}>{title}</Link>}</h2>
      {sub !== undefined && <p className="sub">{sub}</p>}
      {children}
    </section>
  );
}
