import "./settings.css";
import { Alert, Autocomplete, Button, SegmentedControl, Select, Switch, TextInput } from "@mantine/core";
import { IconArrowBackUp, IconSearch } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { useRevert, useSettings, type Place } from "../../api/queries";
import type { LevelRow, SettingRow, SettingsView } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { plural, wordsOf } from "../../ui/words";
import { Setting } from "./Setting";
import { Levels } from "./Levels";
import { GROUPS, type Group } from "./questions";
import { TestModel } from "./TestModel";
import { differs, isOwn } from "./layers";

export function Component() {
  const [params, setParams] = useSearchParams();
  const [find, setFind] = useState(params.get("find") ?? "");
  const [only, setOnly] = useState(false);
  const place = placeOf(params);
  const asked = useSettings(place);
  const setPlace = (next: Place) =>
    setParams(
      (now) => {
        now.set("of", next.holder);
        now.set("name", next.name);
        return now;
      },
      { replace: true },
    );
  return (
    <>
      <Head title="Settings" text="What people change, in plain words, each with what it costs. The question mark tells where a value comes from." />
      <Answer of={asked} rows={14}>
        {(view) => (
          <>
            <Whose view={view} place={place} setPlace={setPlace} />
            <div className="filters settings-find" role="search">
              <TextInput data-search aria-label="Search all settings" placeholder="Search all settings: cost, pinned" leftSection={<IconSearch size={14} />} value={find} onChange={(event) => setFind(event.currentTarget.value)} w={280} />
              <Switch label={place.holder === "user" ? "Only what differs from the defaults" : "Only overrides"} checked={only} onChange={(event) => setOnly(event.currentTarget.checked)} />
            </div>
            {view.warnings.map((warning) => (
              <Alert key={warning} color="orange" mb={8}>
                {warning}
              </Alert>
            ))}
            <List view={view} place={place} find={find} only={only} />
            <p className="sub settings-file">
              Written to <span className="mono">{view.file}</span>, with your comments as they are.
            </p>
          </>
        )}
      </Answer>
    </>
  );
}

function placeOf(params: URLSearchParams): Place {
  const holder = params.get("of");
  const name = params.get("name") ?? "";
  if ((holder === "agents" || holder === "projects") && name !== "") return { holder, name };
  return { holder: "user", name: "" };
}

function Whose({ view, place, setPlace }: { view: SettingsView; place: Place; setPlace: (place: Place) => void }) {
  const [agent, setAgent] = useState("");
  const [kind, setKind] = useState<Place["holder"]>(place.holder);
  return (
    <div className="panel whose">
      <SegmentedControl
        aria-label="Whose settings"
        value={kind}
        onChange={(value) => {
          const holder = value as Place["holder"];
          setKind(holder);
          if (holder === "user") setPlace({ holder, name: "" });
          const first = holder === "agents" ? view.agents[0]?.name : holder === "projects" ? view.projects[0]?.root : undefined;
          if (first !== undefined) setPlace({ holder, name: first });
        }}
        data={[
          { value: "user", label: "Default, for everybody" },
          { value: "agents", label: "One agent" },
          { value: "projects", label: "One project" },
        ]}
      />
      {kind === "agents" && (
        <Autocomplete
          aria-label="Agent"
          placeholder="name of an agent, such as plan"
          value={agent === "" && place.holder === "agents" ? place.name : agent}
          data={view.agents.map((one) => one.name)}
          onChange={setAgent}
          onOptionSubmit={(name) => setPlace({ holder: "agents", name })}
          onKeyDown={(event) => {
            if (event.key === "Enter" && agent.trim() !== "") setPlace({ holder: "agents", name: agent.trim() });
          }}
          onBlur={() => agent.trim() !== "" && setPlace({ holder: "agents", name: agent.trim() })}
          size="xs"
          w={260}
        />
      )}
      {kind === "projects" && (
        <Select
          aria-label="Project"
          placeholder={view.projects.length === 0 ? "no project is known yet" : "a project"}
          data={view.projects.map((one) => ({ value: one.root, label: `${one.name}${one.overridden.length > 0 ? ` (${plural(one.overridden.length, "override")})` : ""}` }))}
          value={place.holder === "projects" ? place.name : null}
          onChange={(name) => name !== null && setPlace({ holder: "projects", name })}
          w={260}
        />
      )}
      <span className="whose-words">
        {place.holder === "user" && `Every agent and project follows these; ${overridesOf(view)}.`}
        {place.holder === "agents" && <><b>{place.name}</b> follows the default wherever it has no override.</>}
        {place.holder === "projects" && <>Sessions in <b>{place.name.split("/").at(-1)}</b> follow the default wherever it has no override.</>}
      </span>
      {place.holder !== "user" && <RevertAll keys={view.settings.filter((row) => isOwn(row, place)).map((row) => row.key)} place={place} />}
    </div>
  );
}

/** Let an agent or a project follow the default again in everything. */
function RevertAll({ keys, place }: { keys: string[]; place: Place }) {
  const revert = useRevert(place);
  if (keys.length === 0) return null;
  return (
    <Button size="xs" variant="default" leftSection={<IconArrowBackUp size={14} />} loading={revert.isPending} onClick={() => keys.forEach((key) => revert.mutate(key))}>
      {`Revert ${plural(keys.length, "override")}`}
    </Button>
  );
}

function overridesOf(view: SettingsView): string {
  const agents = view.agents.filter((one) => one.overridden.length > 0).map((one) => one.name);
  const projects = view.projects.filter((one) => one.overridden.length > 0).map((one) => one.name);
  const names = [...agents, ...projects];
  return names.length === 0 ? "nobody has overrides" : `${names.join(", ")} ${names.length === 1 ? "has" : "have"} overrides`;
}

function List({ view, place, find, only }: { view: SettingsView; place: Place; find: string; only: boolean }) {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const asked = words.length > 0 || only;
  const [all, setAll] = useState(false);
  const rows = view.settings.filter(
    (row) =>
      (place.holder === "user" || row.about.per_agent) &&
      (!only || (place.holder === "user" ? differs(row) : isOwn(row, place))) &&
      words.every((word) => `${row.key} ${row.about.about} ${row.about.guidance} ${plainOf(row.key)}`.toLowerCase().includes(word)),
  );
  const sections = [...new Set(rows.map((row) => row.about.section))];
  if (rows.length === 0)
    return <Empty title={only ? "Everything follows the default" : "No such setting"} text={only ? "Change a value and it stands here as an override." : "Other words, or none."} />;
  return (
    <div className="grid">
      {!asked && GROUPS.map((group) => <Questions key={group.name} group={group} rows={rows} place={place} levels={view.levels} />)}
      {!asked &&
        view.settings.some((row) => row.key === "preset" && row.value === "ambient") &&
        Object.entries(AMBIENT).map(([name, keys]) => <Section key={name} section={name} rows={rows.filter((row) => keys.includes(row.key))} place={place} levels={view.levels} />)}
      {!asked && (
        <Button variant="default" className="settings-all" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Hide all settings" : `All settings: ${rows.length}`}
        </Button>
      )}
      {(asked || all) &&
        sections.map((section) => <Section key={section} section={section} rows={rows.filter((row) => row.about.section === section)} place={place} levels={view.levels} />)}
    </div>
  );
}

const ASKINGS = new Map(GROUPS.flatMap((group) => group.questions).map((one) => [one.key, one]));

/** The plain words of a setting that has some, so that it is found by them, too. */
function plainOf(key: string): string {
  const asking = ASKINGS.get(key);
  return asking === undefined ? "" : `${asking.question} ${asking.cost}`;
}

/** One group of plain questions; those that this place cannot answer are left out. */
function Questions({ group, rows, place, levels }: { group: Group; rows: SettingRow[]; place: Place; levels: LevelRow[] }) {
  const known = group.questions.flatMap((asking) => rows.filter((row) => row.key === asking.key).map((row) => ({ asking, row })));
  if (known.length === 0) return null;
  const [first] = known;
  const off = group.model !== undefined && first?.row.value === "off";
  const shown = off ? known.slice(0, 1) : known;
  return (
    <section className="panel flush" aria-labelledby={`title-${group.name}`}>
      <h2 className="settings-title" id={`title-${group.name}`}>
        {group.title}
      </h2>
      <ul className="setting-list">
        {shown.map(({ asking, row }) => (
          <Setting key={row.key + place.holder + place.name} row={row} place={place} asking={asking} id={`${group.name}-${row.key}`}>
            {row.key === "recall.level" && levels.length > 0 && <Levels levels={levels} chosen={String(row.value)} />}
          </Setting>
        ))}
      </ul>
      {group.model !== undefined && !off && <TestModel section={group.model} />}
    </section>
  );
}

const ROW_PX = 62;

/** One section, drawn when it comes near: there are more settings than a person looks at. */
function Section({ section, rows, place, levels }: { section: string; rows: SettingRow[]; place: Place; levels: LevelRow[] }) {
  const box = useRef<HTMLElement>(null);
  const [near, setNear] = useState(rows.length < 8);
  useEffect(() => {
    const watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && setNear(true), { rootMargin: "500px" });
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  return (
    <section ref={box} id={`section-${section}`} className="panel flush" aria-labelledby={`title-${section}`}>
      <h2 className="settings-title" id={`title-${section}`}>
        {titleOf(section)} {section !== "" && !(section in AMBIENT) && <span className="mono faint">{section}</span>}
      </h2>
      {section === "ambient_awareness" && <p className="faint">Experimental</p>}
      {near ? (
        <ul className="setting-list">
          {rows.map((row) => (
            <Setting key={row.key + place.holder + place.name} row={row} place={place} id={`${section}-${row.key}`}>
              {row.key === "recall.level" && levels.length > 0 && <Levels levels={levels} chosen={String(row.value)} />}
            </Setting>
          ))}
        </ul>
      ) : (
        <div style={{ height: rows.length * ROW_PX }} />
      )}
    </section>
  );
}

/** The groups that the design of the preset `ambient` gives its settings; each setting stands in its own section, too. */
const AMBIENT: Record<string, readonly string[]> = {
  contextual_search: ["recall.candidates_per_space", "recall.ambient.ratio", "recall.ambient.cosine"],
  deduplication: ["recall.reinject_after", "recall.history_blocks"],
  ambient_awareness: ["recall.ambient.enabled", "recall.ambient.pinned_kinds", "recall.ambient.pinned_limit", "recall.ambient.pinned_sort"],
};

function titleOf(section: string): string {
  if (section === "") return "Whole";
  const words = section.split(".").map(wordsOf).join(": ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
