import "./sessions.css";
import { Link } from "react-router";
import { useSessions } from "../../api/queries";
import type { SessionRow } from "../../api/types";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { Pages } from "../../ui/Pages";
import { agoOf, countOf, dayOf, timeOf } from "../../ui/words";

export function Component() {
  const asked = useSessions();
  return (
    <>
      <Head title="Sessions" text="Each session of an agent, turn by turn: what it asked, what it was given, what it already had." />
      <Pages
        of={asked}
        rows={(page) => page.sessions}
        empty={<Empty title="No session yet" text="Start your agent in a project; its first event makes the session." command="tacit install" />}
      >
        {(rows) => (
          <ul className="sessions">
            {rows.map((row) => (
              <li key={row.key}>
                <Row row={row} />
              </li>
            ))}
          </ul>
        )}
      </Pages>
    </>
  );
}

function Row({ row }: { row: SessionRow }) {
  return (
    <Link className="session" to={`/sessions/${encodeURIComponent(row.host)}/${encodeURIComponent(row.session_id)}`} data-live={!row.ended || undefined}>
      <span className="session-when num">
        {dayOf(row.started_at_ms)} <span className="faint">{timeOf(row.started_at_ms)}</span>
      </span>
      <span className="session-name">
        <b>{projectOf(row)}</b> <span className="faint mono">{row.key}</span>
      </span>
      <span className="session-marks">
        {row.agent !== "" && <span className="chip">{row.agent}</span>}
        {row.muted && <span className="chip chip-strong">muted</span>}
        {row.incognito && <span className="chip chip-strong">incognito</span>}
        {row.parent !== "" && <span className="chip">fork</span>}
      </span>
      <span className="session-figure num">
        <b>{row.turn}</b> turns
      </span>
      <span className="session-figure num">
        <b>{row.exposures}</b> given
      </span>
      <span className="session-figure num">
        <b>{countOf(row.tokens)}</b> tokens
      </span>
      <span className="session-last faint">{row.ended ? "ended" : agoOf(row.last_signal_at_ms)}</span>
    </Link>
  );
}

export function projectOf(row: SessionRow): string {
  return row.project_root.split("/").at(-1) || row.project_id.replace(/-[0-9a-f]{6,}$/, "") || "no project";
}
