import { Link } from "react-router";
import { useExposures, useRelations, useVersions } from "../../api/queries";
import type { Memory } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Difference } from "../../ui/Difference";
import { differencesOf } from "../../ui/differences";
import { Kind } from "../../ui/Kind";
import { Pages } from "../../ui/Pages";
import { SurfaceMark } from "../../ui/SurfaceMark";
import { percentOf, plural, scopeOf, speakerOf, whenOf, wordsOf } from "../../ui/words";

const BREADTH = ["", "few sessions", "some sessions", "almost every session"];

export function About({ memory, open }: { memory: Memory; open: (id: string) => void }) {
  const { trigger, provenance, validity } = memory;
  return (
    <dl className="facts">
      <dt>applies</dt>
      <dd>
        {trigger.always && "always"}
        {trigger.phrases.map((one) => (
          <p key={one}>{one}</p>
        ))}
        <span className="chips">
          {trigger.actions.map(([name, weight]) => (
            <span className="chip" key={String(name)}>
              {wordsOf(String(name))} {percentOf(Number(weight))}
            </span>
          ))}
          {[...trigger.paths, ...trigger.commands.map((one) => `$ ${one}`), ...trigger.tools, ...trigger.languages, ...trigger.topics].map((one) => (
            <span className="chip mono" key={one}>{one}</span>
          ))}
        </span>
        <span className="faint">
          {BREADTH[Math.round(trigger.breadth)] !== "" && `in ${BREADTH[Math.round(trigger.breadth)]}; `}said by {trigger.maker === "local" ? "the local reader" : `the ${trigger.maker}`}
        </span>
      </dd>
      <dt>scope</dt>
      <dd title={memory.scope}>
        {scopeOf(memory.scope)} <span className="faint">({memory.sensitivity})</span>
      </dd>
      {memory.branch !== null && (
        <>
          <dt>branch</dt>
          <dd>
            {memory.branch.name} <span className="faint">({memory.branch.gone ? "gone; the review asks you" : "not merged; it holds there alone"})</span>
          </dd>
        </>
      )}
      <dt>said by</dt>
      <dd>
        {speakerOf(provenance.speaker)}
        {provenance.source !== "" && `, through ${provenance.source}`}
        {provenance.session_id !== "" && (
          <>
            {" in "}
            <Link to={`/sessions/${encodeURIComponent(provenance.host)}/${encodeURIComponent(provenance.session_id)}`}>
              {provenance.host}/{provenance.session_id}
            </Link>
            {provenance.turn > 0 && `, turn ${provenance.turn}`}
          </>
        )}
      </dd>
      {provenance.span !== "" && provenance.span !== memory.content && (
        <>
          <dt>in the words</dt>
          <dd>“{provenance.span}”</dd>
        </>
      )}
      <dt>holds</dt>
      <dd>
        from {whenOf(validity.valid_from_ms)}
        {validity.valid_to_ms !== null && ` until ${whenOf(validity.valid_to_ms)}`}
        {validity.superseded_by !== null && (
          <>
            , then{" "}
            <button type="button" className="chip chip-link" style={{ border: 0, cursor: "pointer" }} onClick={() => open(validity.superseded_by!)}>
              another
            </button>
          </>
        )}
      </dd>
      <dt>importance</dt>
      <dd className="num">
        {memory.importance.toFixed(2)}, confidence {memory.confidence.toFixed(2)}
        {memory.pinned && ", pinned"}
      </dd>
      <dt>figures</dt>
      <dd className="num">
        said {memory.frequency} ×, used in {memory.shown_count >= memory.use_count ? `${memory.use_count} of ${plural(memory.shown_count, "session")}` : plural(memory.use_count, "session")}; {memory.tokens} tokens
      </dd>
      {memory.files.length > 0 && (
        <>
          <dt>files</dt>
          <dd className="chips">
            {memory.files.map((file) => (
              <span className="chip mono" key={file}>{file}</span>
            ))}
          </dd>
        </>
      )}
      {memory.entities.length > 0 && (
        <>
          <dt>names</dt>
          <dd className="chips">
            {memory.entities.map((one) => (
              <span className="chip mono" key={one.kind + one.key} title={one.kind}>{one.key}</span>
            ))}
          </dd>
        </>
      )}
      {memory.error_signature !== "" && (
        <>
          <dt>error</dt>
          <dd className="mono">{memory.error_signature}</dd>
        </>
      )}
      {memory.evidence.length > 0 && (
        <>
          <dt>also said as</dt>
          <dd>{memory.evidence.map((one) => `“${one}”`).join(" ")}</dd>
        </>
      )}
    </dl>
  );
}

export function Versions({ id }: { id: string }) {
  return (
    <Pages of={useVersions(id)} rows={(page) => page.changes} waiting={6} empty={<p className="sub">Nothing was written about it.</p>} bare>
      {(changes) => (
        <ol className="versions">
          {changes.map(({ memory, before, reason, at_ms, change_id }) => (
            <li key={change_id + at_ms}>
              <p className="faint">{[whenOf(at_ms), reason, ...(before === null ? [] : differencesOf(before, memory))].join(" · ")}</p>
              {before === null ? <p>{memory.content}</p> : before.content !== memory.content && <p><Difference before={before.content} after={memory.content} /></p>}
            </li>
          ))}
        </ol>
      )}
    </Pages>
  );
}

export function Relations({ id, open }: { id: string; open: (id: string) => void }) {
  return (
    <Answer of={useRelations(id)}>
      {(relations) =>
        relations.length === 0 ? (
          <p className="sub">It hangs together with nothing yet. Relations come from what is captured: shared files, causes, parts.</p>
        ) : (
          <ul className="related">
            {relations.map(({ relation, other }) => {
              if (other === undefined) return null;
              return (
                <li key={`${relation.type}${relation.source_id}${relation.target_id}`}>
                  <button type="button" onClick={() => open(other.id)}>
                    <span className="faint">
                      {relation.source_id === id ? "" : "← "}
                      {wordsOf(relation.type)}
                    </span>
                    <Kind name={other.kind} />
                    <span className="text">{other.content}</span>
                  </button>
                </li>
              );
            })}
          </ul>
        )
      }
    </Answer>
  );
}

export function Exposures({ id }: { id: string }) {
  return (
    <>
    <Link className="chip chip-link" to={`/traces?memory=${id}`}>all recalls that looked at it</Link>
    <Pages of={useExposures(id)} rows={(page) => page.exposures} waiting={6} empty={<p className="sub">It was not injected yet.</p>} bare>
      {(exposures) => (
          <table className="handed">
            <thead>
              <tr>
                <th scope="col">when</th>
                <th scope="col">surface</th>
                <th scope="col">session, turn</th>
                <th scope="col">used</th>
              </tr>
            </thead>
            <tbody>
              {exposures.map((one, at) => {
                const [host = "", ...rest] = one.session.split("/");
                return (
                  <tr key={at}>
                    <td className="num">{whenOf(one.at_ms)}</td>
                    <td>
                      <SurfaceMark surface={one.surface} />
                    </td>
                    <td>
                      <Link to={`/sessions/${encodeURIComponent(host)}/${encodeURIComponent(rest.join("/"))}`}>{one.session}</Link>, {one.turn}
                    </td>
                    <td>{one.used === null ? <span className="faint">not known</span> : one.used ? "yes" : "no"}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
      )}
    </Pages>
    </>
  );
}
