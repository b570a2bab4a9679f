import "./graph.css";
import { Progress, SegmentedControl, Select, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { useGraph, useProjects } from "../../api/queries";
import type { Graph as Whole } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { Kind } from "../../ui/Kind";
import { countOf, plural, wordsOf } from "../../ui/words";
import { Canvas } from "./Canvas";

export function Component() {
  const [scope, setScope] = useState<string | null>(null);
  const [limit, setLimit] = useState("1000");
  const [find, setFind] = useState("");
  const projects = useProjects();
  const asked = useGraph(Number(limit), scope ?? "");
  return (
    <>
      <Head title="Graph" text="Memories and how they hang together: what updates, contradicts, causes or belongs to what." />
      <div className="filters" role="search">
        <TextInput data-search aria-label="Find in the graph" placeholder="Find: words of a memory" leftSection={<IconSearch size={14} />} value={find} onChange={(event) => setFind(event.currentTarget.value)} w={260} />
        <Select aria-label="Scope" placeholder="Every scope" clearable data={[{ value: "universal", label: "universal" }, ...(projects.data ?? []).map((row) => ({ value: row.scope, label: row.project.name }))]} value={scope} onChange={setScope} w={180} />
        <SegmentedControl aria-label="Most memories" value={limit} onChange={setLimit} data={[{ value: "300", label: "300" }, { value: "1000", label: "1,000" }, { value: "5000", label: "5,000" }]} />
      </div>
      <Answer of={asked}>{(graph) => (graph.nodes.length === 0 ? <Empty title="Nothing to draw yet" text="Memories stand here as soon as there are some." to="/memories" link="Remember something" /> : <Drawn graph={graph} find={find} />)}</Answer>
    </>
  );
}

function Drawn({ graph, find }: { graph: Whole; find: string }) {
  const navigate = useNavigate();
  const [over, setOver] = useState<string>();
  const [chosen, setChosen] = useState<string>();
  const [done, setDone] = useState(0);
  const types = useMemo(() => [...new Set(graph.edges.map((edge) => edge.type))].sort(), [graph]);
  const shown = graph.nodes.find((node) => node.id === (over ?? chosen));
  const near = useMemo(() => (chosen === undefined ? [] : neighboursOf(graph, chosen)), [graph, chosen]);
  return (
    <div className="graph-grid">
      <div className="panel flush graph-box">
        {done < 1 && <Progress value={done * 100} size={3} radius={0} aria-label="Laying the graph out" className="graph-progress" />}
        <Canvas graph={graph} find={find} chosen={chosen} onOver={setOver} onChoose={setChosen} onProgress={setDone} />
        <ul className="graph-legend" aria-label="Colours">
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
          {graph.truncated && `; the newest of ${countOf(graph.total)}`}
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
            </button>
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
