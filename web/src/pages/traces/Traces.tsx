import "./traces.css";
import "../../trace/trace.css";
import { Button, SegmentedControl, Select, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useEffect, useMemo, useState } from "react";
import { useSearchParams } from "react-router";
import { useProjects, useTraces, type TraceFilter } from "../../api/queries";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { Pages } from "../../ui/Pages";
import { RecallList } from "../../ui/RecallList";
import { SURFACES } from "../../ui/SurfaceMark";

export function Component() {
  const [params, setParams] = useSearchParams();
  const [text, setText] = useState(params.get("text") ?? "");
  const [words] = useDebouncedValue(text, 250);
  const filter = useMemo<TraceFilter>(() => {
    const given: TraceFilter = {};
    const surface = params.get("surface");
    const outcome = params.get("outcome");
    if (surface !== null) given.surface = surface as NonNullable<TraceFilter["surface"]>;
    if (outcome === "injected" || outcome === "silent") given.outcome = outcome;
    if (words !== "") given.text = words;
    if (params.has("session")) given.session = params.get("session")!;
    if (params.has("cwd")) given.cwd = params.get("cwd")!;
    return given;
  }, [params, words]);
  const asked = useTraces(filter);
  const projects = useProjects();
  useEffect(() => put("text", words), [words]); // eslint-disable-line react-hooks/exhaustive-deps

  function put(name: string, value: string | null) {
    setParams(
      (now) => {
        if (value === null || value === "") now.delete(name);
        else now.set(name, value);
        return now;
      },
      { replace: true },
    );
  }

  return (
    <>
      <Head title="Traces" text="Every time the memory was asked: what was injected, and every silence with its reason." />
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
            <Empty title="The memory was not asked yet" text="Start a session of your agent in a project, or try a prompt in the playground." command={"tacit install\ntacit doctor"} to="/playground" link="To the playground" />
          )
        }
      >
        {(rows) => <RecallList rows={rows} />}
      </Pages>
    </>
  );
}
