import "./sessions.css";
import { Button, Select, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { Link } from "react-router";
import { useProjects, useSessions } from "../../api/queries";
import type { SessionRow } from "../../api/types";
import { Empty } from "../../ui/Empty";
import { useFilters } from "../../ui/filters";
import { Head } from "../../ui/Head";
import { Pages } from "../../ui/Pages";
import { SavedFilters } from "../../ui/SavedFilters";
import { agoOf, dateOf, timeOf } from "../../ui/words";

export function Component() {
  const { params, put, text, setText, words } = useFilters();
  const cwd = params.get("cwd");
  const asked = useSessions({ ...(words !== "" && { text: words }), ...(cwd !== null && { cwd }) });
  const projects = useProjects();
  return (
    <>
      <Head title="Sessions" text="Each session of an agent: what it taught, and turn by turn what it asked and was given. Imported ones, too.">
        <Button variant="default" component={Link} to="/sessions/comparison">
          With and without memory
        </Button>
      </Head>
      <div className="filters" role="search">
        <TextInput data-search aria-label="Search sessions" placeholder="Search: first prompt, project, agent" leftSection={<IconSearch size={14} />} value={text} onChange={(event) => setText(event.currentTarget.value)} w={270} />
        <Select aria-label="Project" placeholder="Every project" clearable data={(projects.data ?? []).map(({ project }) => ({ value: project.root, label: project.name }))} value={cwd} onChange={(value) => put("cwd", value)} w={180} />
        <SavedFilters />
      </div>
      <Pages
        of={asked}
        rows={(page) => page.sessions}
        empty={
          words !== "" || cwd !== null ? (
            <Empty title="No session matches" text="Other words, or another project." to="/sessions" link="All sessions" />
          ) : (
            <Empty title="No session yet" text="Start your agent in a project; its first event makes the session. Or read past sessions." command={"tacit install\ntacit import transcripts"} />
          )
        }
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
    <Link className="session" title={row.key} to={`/sessions/${encodeURIComponent(row.host)}/${encodeURIComponent(row.session_id)}`} data-live={!row.ended || undefined}>
      <span className="session-when num">
        {row.started_at_ms > 0 ? <>{dateOf(row.started_at_ms)} <span className="faint">{timeOf(row.started_at_ms).slice(0, 5)}</span></> : <span className="faint">no date</span>}
      </span>
      <span className="session-project faint">{projectOf(row)}</span>
      <b className="session-name">{titleOf(row)}</b>
      <span className="session-marks">
        {row.agent !== "" && <span className="chip">{row.agent}</span>}
        {row.muted && <span className="chip chip-strong">muted</span>}
        {row.incognito && <span className="chip chip-strong">incognito</span>}
        {row.parent !== "" && <span className="chip">fork</span>}
      </span>
      <span className="session-figure num">
        <b>{row.taught}</b> taught
      </span>
      <span className="session-figure num">
        <b>{row.turn}</b> turns
      </span>
      <span className="session-figure num">
        <b>{row.imported ? "–" : row.exposures}</b> given
      </span>
      <span className="session-last faint">{row.imported ? "imported" : row.ended ? "ended" : agoOf(row.last_signal_at_ms)}</span>
    </Link>
  );
}

/** What a session is called: its first prompt, or what is known without one. */
export function titleOf(row: SessionRow): string {
  const words = row.title.replace(/\s+/g, " ").trim();
  if (words === "") return `no prompt is known, ${row.session_id}`;
  return words.length <= 160 ? words : `${words.slice(0, 157).trimEnd()}...`;
}

export function projectOf(row: SessionRow): string {
  return row.project_root.split("/").at(-1) || row.project_id.replace(/-[0-9a-f]{6,}$/, "") || "no project";
}
