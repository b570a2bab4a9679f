import { useState } from "react";
import { Link } from "react-router";
import { useDigests } from "../../api/data";
import type { SessionDigest } from "../../api/types";
import { Empty } from "../../ui/Empty";
import { Pages } from "../../ui/Pages";
import { agoOf, plural, scopeOf, whenOf } from "../../ui/words";
import { ProjectSelect } from "./DataPage";

const NAMES: Record<string, string> = { impl: "worked on", dec: "decided", block: "still failing", next: "open", done: "done", fix: "fixed" };

/** What each session was about, in a few lines. */
export function Digests() {
  const [folder, setFolder] = useState("");
  const digests = useDigests(folder);
  const reason = digests.data?.pages[0]?.reason ?? "";
  return (
    <>
      <div className="filters" role="search">
        <ProjectSelect label="Project" placeholder="Every project" value={folder} set={setFolder} />
      </div>
      {reason !== "" && (digests.data?.pages[0]?.digests.length ?? 0) > 0 && <p className="sub">{reason}</p>}
      <Pages of={digests} rows={(page) => page.digests} empty={<Empty title="There is no digest yet" text={reason === "" ? "A session gets one when it ends." : reason} />}>
        {(rows) => (
          <ul className="digests">
            {rows.map((row) => (
              <li key={row.memory_id}>
                <Digest of={row} />
              </li>
            ))}
          </ul>
        )}
      </Pages>
    </>
  );
}

function Digest({ of }: { of: SessionDigest }) {
  const [host = "", ...rest] = of.session.split("/");
  const lines = [...of.lines.map(({ code, text }) => [NAMES[code] ?? code, text] as const), ...of.commits.map((text) => ["commit", text] as const), ...of.open_tasks.map((text) => ["open task", text] as const)];
  return (
    <article aria-label={`Digest of ${of.session}`}>
      <h2>
        <Link to={`/sessions/${encodeURIComponent(host)}/${encodeURIComponent(rest.join("/"))}`}>{scopeOf(of.scope)}</Link>{" "}
        <span className="faint mono">{of.session}</span> <span className="faint" title={whenOf(of.at_ms)}>{of.running ? "goes on" : agoOf(of.at_ms)}</span>
      </h2>
      <dl className="facts">
        {lines.map(([name, text], at) => (
          <Line key={at} name={name} text={text} />
        ))}
      </dl>
      {of.files.length > 0 && (
        <details>
          <summary>{plural(of.files.length, "file")}</summary>
          <p className="mono">{of.files.join(", ")}</p>
        </details>
      )}
      <Link to={`/memories/${of.memory_id}`}>Open its memory</Link>
    </article>
  );
}

function Line({ name, text }: { name: string; text: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </>
  );
}
