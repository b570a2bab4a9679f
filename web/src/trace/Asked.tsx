import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Trace } from "../api/types";
import { SurfaceMark } from "../ui/SurfaceMark";
import { askedOf, percentOf, whenOf, wordsOf } from "../ui/words";

/** What was asked and, folded, what was read in it. */
export function Asked({ trace, aside }: { trace: Trace; aside?: ReactNode }) {
  const { situation } = trace;
  const [host = "", ...rest] = trace.session.split("/");
  const chips = [...situation.paths.slice(0, 5), ...situation.commands.slice(0, 3).map((command) => `$ ${command}`), ...situation.languages, ...situation.why];
  return (
    <section className="panel" aria-label="What was asked">
      <div className="asked-line">
        <SurfaceMark surface={trace.surface} />
        <span className="faint">{whenOf(trace.at_ms)}</span>
        {rest.join("/") !== "" && (
          <Link className="asked-session" to={`/sessions/${encodeURIComponent(host)}/${encodeURIComponent(rest.join("/"))}`}>
            {trace.session}
            {trace.turn > 0 && `, turn ${trace.turn}`}
          </Link>
        )}
        <span className="faint">
          {trace.tokens > 0 && `${trace.tokens} of ${trace.budget_tokens} tokens; `}
          <span title="A preset decides what is given when; Settings names the others.">preset {trace.preset}</span>
        </span>
      </div>
      <blockquote className="asked-text">{askedOf(trace.surface, trace.text)}</blockquote>
      {(situation.actions.length > 0 || chips.length > 0) && (
        <details className="fold">
          <summary>
            What was read in it
            {situation.accepted && ": accepts the agent's proposal"}
            {situation.nothing_coming && ": no action is coming"}
          </summary>
          <p className="chips">
            {situation.actions.slice(0, 6).map(([name, chance]) => (
              <span className="chip" key={name}>
                {wordsOf(name)} {percentOf(chance)}
              </span>
            ))}
            {chips.map((words) => (
              <span className="chip mono" key={words}>{words}</span>
            ))}
          </p>
        </details>
      )}
      {aside}
    </section>
  );
}
