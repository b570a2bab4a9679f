import "./recalls.css";
import { useEffect, useRef, type KeyboardEvent } from "react";
import { Link, useNavigate } from "react-router";
import { isWriting } from "../app/shortcuts";
import type { RecallRow } from "../api/types";
import { SurfaceMark } from "./SurfaceMark";
import { askedOf, dayOf, msOf, timeOf } from "./words";

/** Recalls, newest first, a heading per day; `j` and `k` move, Enter opens. */
export function RecallList({ rows, days = true }: { rows: RecallRow[]; days?: boolean }) {
  const list = useRef<HTMLUListElement>(null);
  const navigate = useNavigate();
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => {
      if (isWriting(event.target) || (event.key !== "j" && event.key !== "k")) return;
      const links = [...(list.current?.querySelectorAll<HTMLAnchorElement>("a.recall") ?? [])];
      const at = links.indexOf(document.activeElement as HTMLAnchorElement);
      links[Math.min(links.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)))]?.focus();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
  const onKey = (event: KeyboardEvent, id: string) => {
    if (event.key === "o") void navigate(`/traces/${id}`);
  };
  let day = "";
  return (
    <>
    {days && (
      <div className="recall" aria-hidden>
        <span>time</span><span>when</span><span>asked with</span><span>what came</span><span className="recall-best-name">relevance</span><span className="recall-took">took</span>
      </div>
    )}
    <ul className="recalls" ref={list}>
      {rows.map((row) => {
        const today = dayOf(row.at_ms);
        const heading = days && today !== day ? today : undefined;
        day = today;
        return (
          <li key={row.id}>
            {heading !== undefined && <h2 className="recall-day">{heading}</h2>}
            <Link to={`/traces/${row.id}`} className="recall" data-kept={row.injected.length > 0 || undefined} onKeyDown={(event) => onKey(event, row.id)}>
              <time className="num">{timeOf(row.at_ms)}</time>
              <SurfaceMark surface={row.surface} />
              <span className="recall-text">{askedOf(row.surface, row.text)}</span>
              <Outcome row={row} />
              <span className="recall-best" title={row.best_relevance === null ? "no candidate" : `best ${row.best_relevance.toFixed(2)}, threshold ${row.threshold.toFixed(2)}`} aria-hidden>
                {row.best_relevance !== null && (
                  <>
                    <i data-over={row.best_relevance >= row.threshold || undefined} style={{ width: `${row.best_relevance * 100}%` }} />
                    <b style={{ left: `${row.threshold * 100}%` }} />
                  </>
                )}
              </span>
              <span className="recall-took num">{msOf(row.took_ms)}</span>
            </Link>
          </li>
        );
      })}
    </ul>
    </>
  );
}

function Outcome({ row }: { row: RecallRow }) {
  if (row.injected.length === 0)
    return (
      <span className="recall-outcome" title={row.silence}>
        {row.silence === "" ? "silence" : row.silence}
      </span>
    );
  return (
    <span className="recall-outcome" data-kept>
      <b>{row.injected.length}</b> given, {row.tokens} tokens
    </span>
  );
}
