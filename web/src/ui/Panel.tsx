import type { ReactNode } from "react";

/** One thing on a page, with its name and what it is; `says` is what a chart in it shows, for whoever cannot see it. */
export function Panel({ title, sub, says, className = "", children }: { title: string; sub?: string; says?: string; className?: string; children: ReactNode }) {
  return (
    <section className={`panel ${className}`} aria-label={says === undefined ? title : `${title}: ${says}`}>
      <h2>{title}</h2>
      {sub !== undefined && <p className="sub">{sub}</p>}
      {children}
    </section>
  );
}
