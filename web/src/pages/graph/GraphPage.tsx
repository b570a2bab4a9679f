import "./graph.css";
import { MultiSelect, Progress, SegmentedControl, Select, Switch, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { useGraph, useKinds, useMostRelated, useProjects } from "../../api/queries";
import type { Graph as Whole, Status } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { useFilters } from "../../ui/filters";
import { Head } from "../../ui/Head";
import { Kind, LIFE_WORDS } from "../../ui/Kind";
import { MemorySelect } from "../../ui/MemorySelect";
import { SavedFilters } from "../../ui/SavedFilters";
import { countOf, plural, wordsOf } from "../../ui/words";
import { Canvas } from "./Canvas";

const NEAR = 300;

const LIVES = ["standing", "aging", "episodic"] as const;
const RELATIONS = ["related_to", "updates", "contradicts", "caused_by", "result_of", "part_of"];
const STATES: { value: Status | "all"; label: string }[] = [
  { value: "active", label: "active" },
  { value: "quarantined", label: "waits for review" },
  { value: "superseded", label: "superseded" },
  { value: "retired", label: "forgotten" },
  { value: "all", label: "every state" },
];

export function Component() {
  const { params, put, text, setText, words } = useFilters();
  const whole = params.get("show") === "all";
  const given = params.get("around");
  const first = useMostRelated(!whole && given === null);
  const centre = whole ? null : (given ?? first.data ?? null);
  const kinds = params.getAll("kind");
  const relations = params.getAll("relation");
  const status = params.get("status") as Status | "all" | null;
  const scope = params.get("scope");
  const limit = params.get("limit") ?? "1000";
  const projects = useProjects();
  const known = useKinds();
  const asked = useGraph(
    {
      ...(centre !== null && { around: centre }),
      ...(scope !== null && { scope: [scope] }),
      ...(kinds.length > 0 && { kind: kinds }),
      ...(status !== null && { status: [status] }),
      limit: whole ? Number(limit) : NEAR,
    },
    whole || given !== null || first.isFetched,
  );
  return (
    <>
      <Head title="Graph" text="Memories and how they hang together: what updates, contradicts, causes or belongs to what.">
        <SegmentedControl aria-label="What is drawn" value={whole ? "all" : "near"} onChange={(value) => put("show", value === "all" ? "all" : null)} data={[{ value: "near", label: "Around one memory" }, { value: "all", label: "All" }]} />
      </Head>
      <div className="filters" role="search">
        {whole ? (
          <>
            <TextInput data-search aria-label="Find in the graph" placeholder="Find: words of a memory" leftSection={<IconSearch size={14} />} value={text} onChange={(event) => setText(event.currentTarget.value)} w={220} />
            <SegmentedControl aria-label="Most memories" value={limit} onChange={(value) => put("limit", value)} data={[{ value: "300", label: "300" }, { value: "1000", label: "1,000" }, { value: "5000", label: "5,000" }]} />
            <Switch label="Those without a relation, too" checked={params.has("alone")} onChange={(event) => put("alone", event.currentTarget.checked ? "1" : null)} />
          </>
        ) : (
          <MemorySelect label="Around this memory" placeholder="Find a memory by its words" value={centre} set={(id) => put("around", id)} w={320} />
        )}
        <MultiSelect aria-label="Kinds" placeholder={kinds.length === 0 ? "Every kind" : ""} data={known.map(({ name }) => ({ value: name, label: wordsOf(name) }))} value={kinds} onChange={(values) => put("kind", values)} clearable searchable miw={140} maw={300} />
        <MultiSelect aria-label="Relations" placeholder={relations.length === 0 ? "Every relation" : ""} data={RELATIONS.map((name) => ({ value: name, label: wordsOf(name) }))} value={relations} onChange={(values) => put("relation", values)} clearable miw={140} maw={300} />
        <Select aria-label="State" placeholder="Active or waiting" clearable data={STATES} value={status} onChange={(value) => put("status", value)} w={160} />
        <Select aria-label="Scope" placeholder="Every scope" clearable data={[{ value: "universal", label: "universal" }, ...(projects.data ?? []).map((row) => ({ value: row.scope, label: row.project.name }))]} value={scope} onChange={(value) => put("scope", value)} w={150} />
        <SavedFilters />
      </div>
      <Answer of={asked}>
        {(graph) =>
          graph.nodes.length === 0 ? (
            <Empty title="Nothing to draw" text="Memories stand here as soon as there are some that fit the filters." to="/memories" link="All memories" />
          ) : (
            <Fitting graph={graph} relations={params.getAll("relation")} alone={!whole || params.has("alone")} centre={centre} find={whole ? words : ""} around={(id) => put("around", id)} />
          )
        }
      </Answer>
    </>
  );
}

interface Drawing {
  graph: Whole;
  find: string;
  centre: string | null;
  /** Show the neighborhood of another memory. */
  around: (id: string) => void;
}

/** What of the graph is drawn: relations of the chosen types, and without `alone` only memories that have one. */
function Fitting({ relations, alone, ...drawing }: Drawing & { relations: string[]; alone: boolean }) {
  const { graph } = drawing;
  const types = relations.join();
  const part = useMemo(() => {
    const edges = types === "" ? graph.edges : graph.edges.filter((edge) => types.split(",").includes(edge.type));
    const related = new Set(edges.flatMap((edge) => [edge.source, edge.target]));
    const nodes = alone && types === "" ? graph.nodes : graph.nodes.filter((node) => related.has(node.id));
    return { ...graph, nodes, edges };
  }, [graph, types, alone]);
  if (part.nodes.length === 0)
    return <Empty title="No relation to draw" text={`${plural(graph.nodes.length, "memory", "memories")} without one are left out. Relations come from what is captured: shared files, causes, parts.`} />;
  // Another graph is another drawing: what is chosen in one need not be in the other.
  return <Drawn key={drawing.centre ?? "all"} {...drawing} graph={part} left={graph.nodes.length - part.nodes.length} />;
}

function Drawn({ graph, find, centre, around, left }: Drawing & { left: number }) {
  const navigate = useNavigate();
  const [over, setOver] = useState<string>();
  const [chosen, setChosen] = useState<string | undefined>(centre ?? undefined);
  const [done, setDone] = useState(0);
  const types = useMemo(() => [...new Set(graph.edges.map((edge) => edge.type))].sort(), [graph]);
  const shown = graph.nodes.find((node) => node.id === (over ?? chosen));
  const near = useMemo(() => (chosen === undefined ? [] : neighboursOf(graph, chosen)), [graph, chosen]);
  return (
    <div className="graph-grid">
      <div className="panel flush graph-box">
        {done < 1 && <Progress value={done * 100} size={3} radius={0} aria-label="Laying the graph out" className="graph-progress" />}
        <Canvas graph={graph} find={find} chosen={chosen === centre ? undefined : chosen} onOver={setOver} onChoose={setChosen} onProgress={setDone} />
        <ul className="graph-legend" aria-label="Colors">
          {LIVES.map((life) => (
            <li key={life} className={`life-${life}`}>
              <i aria-hidden /> {LIFE_WORDS[life]}
            </li>
          ))}
          {types.map((type) => (
            <li key={type} className={`edge-${type}`}>
              <i aria-hidden /> {wordsOf(type)}
            </li>
          ))}
        </ul>
      </div>
      <aside className="panel graph-side" aria-live="polite">
        <p className="sub">
          {countOf(graph.nodes.length)} memories, {plural(graph.edges.length, "relation")}
          {graph.truncated && `; ${centre === null ? "the newest" : "the nearest"} of ${countOf(graph.total)}`}
          {left > 0 && `; ${countOf(left)} without a relation left out`}
        </p>
        {shown === undefined ? (
          <p className="faint">Point at a memory to read it; choose it to see what it hangs together with. Scroll to come nearer, drag to move.</p>
        ) : (
          <>
            <p>
              <Kind name={shown.kind} /> {shown.label}
            </p>
            <button type="button" className="chip chip-link" style={{ border: 0, cursor: "pointer" }} onClick={() => void navigate(`/memories/${shown.id}`)}>
              open the memory
            </button>{" "}
            {shown.id !== centre && (
              <button type="button" className="chip chip-link" style={{ border: 0, cursor: "pointer" }} onClick={() => around(shown.id)}>
                what is around it
              </button>
            )}
          </>
        )}
        {near.length > 0 && (
          <ul className="graph-near">
            {near.slice(0, 14).map(({ node, type, out }) => (
              <li key={node.id + type}>
                <button type="button" onClick={() => setChosen(node.id)}>
                  <span className={`faint edge-${type}`}>
                    <i aria-hidden /> {out ? "" : "← "}
                    {wordsOf(type)}
                  </span>
                  <span>{node.label}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
        <details className="graph-list">
          <summary>As a list</summary>
          <ul>
            {graph.nodes.slice(0, 60).map((node) => (
              <li key={node.id}>
                <button type="button" onClick={() => setChosen(node.id)}>{node.label}</button>
              </li>
            ))}
          </ul>
        </details>
      </aside>
    </div>
  );
}

function neighboursOf(graph: Whole, id: string) {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  return graph.edges
    .filter((edge) => edge.source === id || edge.target === id)
    .map((edge) => ({ node: nodes.get(edge.source === id ? edge.target : edge.source)!, type: edge.type, out: edge.source === id }));
}
