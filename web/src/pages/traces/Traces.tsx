import "../../trace/trace.css";
import { Button, SegmentedControl, Select, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useMemo } from "react";
import { Link } from "react-router";
import { useProjects, useTraces, type TraceFilter } from "../../api/queries";
import { Empty } from "../../ui/Empty";
import { useFilters } from "../../ui/filters";
import { Head } from "../../ui/Head";
import { MemorySelect } from "../../ui/MemorySelect";
import { Pages } from "../../ui/Pages";
import { RecallList } from "../../ui/RecallList";
import { SavedFilters } from "../../ui/SavedFilters";
import { SURFACES } from "../../ui/SurfaceMark";

const HOUR_MS = 3_600_000;
const RANGES_MS: Record<string, number> = { "last hour": HOUR_MS, "last 24 hours": 24 * HOUR_MS, "last 7 days": 7 * 24 * HOUR_MS, "last 30 days": 30 * 24 * HOUR_MS };
const BETWEEN = "between";

export function Component() {
  const { params, put, text, setText, words } = useFilters();
  const filter = useMemo<TraceFilter>(() => {
    const given: TraceFilter = {};
    const surface = params.get("surface");
    const outcome = params.get("outcome");
    if (surface !== null) given.surface = surface as NonNullable<TraceFilter["surface"]>;
    if (outcome === "injected" || outcome === "silent") given.outcome = outcome;
    if (words !== "") given.text = words;
    if (params.has("session")) given.session = params.get("session")!;
    if (params.has("cwd")) given.cwd = params.get("cwd")!;
    if (params.has("memory")) given.memory = params.get("memory")!;
    return { ...given, ...timesOf(params) };
  }, [params, words]);
  const asked = useTraces(filter);
  const projects = useProjects();

  return (
    <>
      <Head title="Traces" text="Every time the memory was asked: what was injected, and every silence with its reason.">
        <Button variant="default" component={Link} to="/try">
          Try a prompt
        </Button>
      </Head>
      <div className="filters" role="search">
        <TextInput
          data-search
          aria-label="Words that were asked with"
          placeholder="Words that were asked with"
          leftSection={<IconSearch size={14} />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          w={260}
        />
        <SegmentedControl
          aria-label="Outcome"
          value={filter.outcome ?? "all"}
          onChange={(value) => put("outcome", value === "all" ? null : value)}
          data={[
            { value: "all", label: "All" },
            { value: "injected", label: "Injected" },
            { value: "silent", label: "Silence" },
          ]}
        />
        <Select aria-label="Surface" placeholder="Every surface" clearable data={SURFACES.map((name) => ({ value: name, label: name.replace("_", " ") }))} value={filter.surface ?? null} onChange={(value) => put("surface", value)} w={150} />
        <Select aria-label="Project" placeholder="Every project" clearable data={(projects.data ?? []).map(({ project }) => ({ value: project.root, label: project.name }))} value={filter.cwd ?? null} onChange={(value) => put("cwd", value)} w={170} />
        <MemorySelect label="Memory" placeholder="Every memory" value={filter.memory ?? null} set={(id) => put("memory", id)} w={210} />
        <Select aria-label="Time" placeholder="Any time" clearable data={[...Object.keys(RANGES_MS), BETWEEN]} value={params.get("time")} onChange={(value) => put("time", value)} w={130} />
        {params.get("time") === BETWEEN && (
          <>
            <TextInput type="datetime-local" aria-label="From" value={params.get("from") ?? ""} onChange={(event) => put("from", event.currentTarget.value)} w={190} />
            <TextInput type="datetime-local" aria-label="Until" value={params.get("until") ?? ""} onChange={(event) => put("until", event.currentTarget.value)} w={190} />
          </>
        )}
        <SavedFilters />
        {filter.session !== undefined && (
          <Button variant="light" onClick={() => put("session", null)}>
            Session {filter.session} ✕
          </Button>
        )}
      </div>
      <Pages
        of={asked}
        rows={(page) => page.recalls}
        waiting={14}
        empty={
          Object.keys(filter).length > 0 ? (
            <Empty title="No trace matches" text="Take a filter away." />
          ) : (
            <Empty title="The memory was not asked yet" text="Start a session of your agent in a project, or try a prompt." command={"tacit install\ntacit doctor"} to="/try" link="Try a prompt" />
          )
        }
      >
        {(rows) => <RecallList rows={rows} />}
      </Pages>
    </>
  );
}

/** The time asked for. One that counts from now is rounded to the minute, so that the question stays the same for a while. */
function timesOf(params: URLSearchParams): Pick<TraceFilter, "since_ms" | "until_ms"> {
  const range = RANGES_MS[params.get("time") ?? ""];
  if (range !== undefined) return { since_ms: Math.floor(Date.now() / 60_000) * 60_000 - range };
  const from = Date.parse(params.get("from") ?? "");
  const until = Date.parse(params.get("until") ?? "");
  if (params.get("time") !== BETWEEN) return {};
  return { ...(!Number.isNaN(from) && { since_ms: from }), ...(!Number.isNaN(until) && { until_ms: until }) };
}
