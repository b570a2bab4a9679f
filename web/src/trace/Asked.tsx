import { Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Trace } from "../api/types";
import { SurfaceMark } from "../ui/SurfaceMark";
import { msOf, percentOf, whenOf, wordsOf } from "../ui/words";

/** What was asked, what was read in it, and what came of it in numbers. */
export function Asked({ trace, aside }: { trace: Trace; aside?: ReactNode }) {
  const { situation } = trace;
  const [host = "", ...rest] = trace.session.split("/");
  return (
    <section className="asked" aria-label="What was asked">
      <div className="panel">
        <div className="asked-line">
          <SurfaceMark surface={trace.surface} />
          <span className="faint">{whenOf(trace.at_ms)}</span>
          {trace.session !== "" && (
            <Link className="asked-session" to={`/sessions/${encodeURIComponent(host)}/${encodeURIComponent(rest.join("/"))}`}>
              {trace.session}
              {trace.turn > 0 && `, turn ${trace.turn}`}
            </Link>
          )}
        </div>
        <blockquote className="asked-text">{trace.text === "" ? <span className="faint">(no words: a session that starts)</span> : trace.text}</blockquote>
        {situation.actions.length > 0 && (
          <div className="coming">
            <span className="label">About to happen</span>
            <ul>
              {situation.actions.slice(0, 6).map(([name, chance]) => (
                <li key={name}>
                  <span className="bar" style={{ width: `${Math.round(chance * 100)}%` }} />
                  <span className="name">{wordsOf(name)}</span>
                  <span className="num">{percentOf(chance)}</span>
                </li>
              ))}
            </ul>
          </div>
        )}
        <div className="chips">
          {situation.accepted && <span className="chip chip-strong">accepts the agent's proposal</span>}
          {situation.nothing_coming && <span className="chip chip-strong">no action is coming</span>}
          {situation.paths.slice(0, 5).map((path) => (
            <span className="chip mono" key={path}>{path}</span>
          ))}
          {situation.commands.slice(0, 3).map((command) => (
            <span className="chip mono" key={command}>$ {command}</span>
          ))}
          {situation.languages.map((name) => (
            <span className="chip" key={name}>{name}</span>
          ))}
          {situation.why.map((why) => (
            <Tooltip label="why it was read so" key={why}>
              <span className="chip chip-why">{why}</span>
            </Tooltip>
          ))}
        </div>
        {aside}
      </div>
      <dl className="panel figures">
        <Figure name="injected" value={String(trace.injected.length)} unit={`of ${trace.stats.memories_considered} looked at`} strong={trace.injected.length > 0} />
        <Figure name="tokens" value={String(trace.tokens)} unit={`of ${trace.budget_tokens}`} share={trace.budget_tokens > 0 ? trace.tokens / trace.budget_tokens : 0} />
        {trace.stats.by_type.length > 0 && <Figure name="relevance" value={trace.stats.avg_relevance.toFixed(2)} unit={`on average; ${trace.stats.by_type.map(([kind, count]) => `${count} ${wordsOf(kind)}`).join(", ")}`} />}
        <Figure name="took" value={msOf(trace.took_ms).split(" ")[0]!} unit={msOf(trace.took_ms).split(" ")[1]!} />
        <Figure name="threshold" value={trace.threshold.toFixed(2)} unit="of relevance" />
        <Figure name="preset" value={trace.preset} unit="" />
      </dl>
    </section>
  );
}

function Figure({ name, value, unit, share, strong = false }: { name: string; value: string; unit: string; share?: number; strong?: boolean }) {
  return (
    <div className="figure" data-strong={strong || undefined}>
      <dt>{name}</dt>
      <dd>
        <b className="num">{value}</b> {unit}
        {share !== undefined && (
          <span className="meter" aria-hidden>
            <i style={{ width: `${Math.min(100, share * 100)}%` }} />
          </span>
        )}
      </dd>
    </div>
  );
}
