import { useComputedColorScheme } from "@mantine/core";
import Graph from "graphology";
import { useEffect, useRef } from "react";
import Sigma from "sigma";
import { useKinds } from "../../api/queries";
import type { Graph as Whole } from "../../api/types";
import { lifeOf } from "../../ui/Kind";
import type { FromLayout, ToLayout } from "./layout.worker";

/** So many are in sight together: nobody has to be led to the one that was chosen. */
const SEEN_WHOLE = 60;
/** More of them at once lie over each other; the others keep theirs where there is room. */
const MOST_LABELS = 16;

interface Props {
  graph: Whole;
  find: string;
  chosen: string | undefined;
  onOver: (id: string | undefined) => void;
  onChoose: (id: string | undefined) => void;
  onProgress: (done: number) => void;
}

/** The drawing itself, by WebGL; the layout runs in a worker and the picture follows it. */
export function Canvas({ graph, find, chosen, onOver, onChoose, onProgress }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<{ sigma: Sigma; graph: Graph }>(undefined);
  const state = useRef({ find: "", found: 0, chosen: undefined as string | undefined, over: undefined as string | undefined });
  const kinds = useKinds();
  const dark = useComputedColorScheme("light") === "dark";

  useEffect(() => {
    const element = box.current!;
    const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const picture = new Graph({ multi: true });
    const degree = new Map<string, number>();
    for (const edge of graph.edges) for (const id of [edge.source, edge.target]) degree.set(id, (degree.get(id) ?? 0) + 1);
    const around = Math.sqrt(graph.nodes.length) * 12;
    graph.nodes.forEach((node, at) => {
      // A sunflower: even, and the same every time.
      const angle = at * 2.399963;
      const far = around * Math.sqrt((at + 0.5) / graph.nodes.length);
      picture.addNode(node.id, {
        x: far * Math.cos(angle),
        y: far * Math.sin(angle),
        size: (graph.nodes.length < 400 ? 4 : 2.4) + 1.4 * Math.sqrt(degree.get(node.id) ?? 0) + 2 * node.importance,
        label: shortened(node.label, element.clientWidth < 600 ? 22 : 38),
        words: node.label,
        color: colour(`--${lifeOf(kinds.find((kind) => kind.name === node.kind))}`),
        alone: !degree.has(node.id),
      });
    });
    for (const edge of graph.edges) picture.addEdge(edge.source, edge.target, { size: 1 + edge.weight, color: colour(`--edge-${edge.type}`) || colour("--quiet"), type: "line" });

    const near = () => {
      const centre = state.current.over ?? state.current.chosen;
      return centre !== undefined && picture.hasNode(centre) ? new Set([centre, ...picture.neighbors(centre)]) : undefined;
    };
    let lit = near();
    const sigma = new Sigma(picture, element, {
      labelFont: "Inter Variable, sans-serif", labelSize: 12, labelColor: { color: colour("--ink") }, labelDensity: 0.6, labelGridCellSize: 160, labelRenderedSizeThreshold: graph.nodes.length < 40 ? 0 : graph.nodes.length < 150 ? 7 : 10,
      defaultDrawNodeHover: () => undefined, allowInvalidContainer: true, zIndex: true, hideEdgesOnMove: graph.edges.length > 3000, minCameraRatio: 0.02, maxCameraRatio: 4,
      nodeReducer: (id, data) => {
        const words = state.current.find;
        const found = words !== "" && String(data["words"]).toLowerCase().includes(words);
        const faded = (lit !== undefined && !lit.has(id)) || (words !== "" && !found);
        return { ...data, ...(faded && { color: colour("--line"), label: null, zIndex: 0 }), ...((found || (lit !== undefined && lit.has(id))) && { forceLabel: lit === undefined ? state.current.found < MOST_LABELS : lit.size < MOST_LABELS, zIndex: 2, size: data["size"] * 1.25 }) };
      },
      edgeReducer: (edge, data) => (lit === undefined ? data : picture.extremities(edge).every((id) => lit!.has(id)) ? { ...data, size: 2 } : { ...data, hidden: true }),
    });
    const relight = () => {
      lit = near();
      sigma.refresh({ skipIndexation: true });
    };
    sigma.on("enterNode", ({ node }) => { state.current.over = node; onOver(node); relight(); });
    sigma.on("leaveNode", () => { state.current.over = undefined; onOver(undefined); relight(); });
    sigma.on("clickNode", ({ node }) => onChoose(node));
    sigma.on("clickStage", () => onChoose(undefined));
    element.addEventListener("relight", relight);
    drawn.current = { sigma, graph: picture };

    const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<FromLayout>) => {
      graph.nodes.forEach((node, at) => {
        picture.mergeNodeAttributes(node.id, { x: data.positions[2 * at]!, y: data.positions[2 * at + 1]! });
      });
      if (graph.nodes.length <= SEEN_WHOLE) sigma.setCustomBBox(withRoom(data.positions, element));
      onProgress(Math.min(1, data.done));
    };
    worker.postMessage({
      nodes: picture.mapNodes((id, data) => ({ id, x: data["x"] as number, y: data["y"] as number, size: data["size"] as number })),
      edges: graph.edges.map((edge) => [edge.source, edge.target, edge.weight]),
      rounds: graph.nodes.length > 2000 ? 160 : 320,
    } satisfies ToLayout);
    return () => {
      worker.terminate();
      element.removeEventListener("relight", relight);
      sigma.kill();
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [graph, dark, kinds]);

  useEffect(() => {
    state.current.find = find.trim().toLowerCase();
    state.current.found = state.current.find === "" ? 0 : graph.nodes.filter((node) => node.label.toLowerCase().includes(state.current.find)).length;
    state.current.chosen = chosen;
    box.current?.dispatchEvent(new Event("relight"));
    if (chosen !== undefined && graph.nodes.length > SEEN_WHOLE) {
      const place = drawn.current?.sigma.getNodeDisplayData(chosen);
      if (place !== undefined) void drawn.current!.sigma.getCamera().animate({ x: place.x, y: place.y, ratio: Math.min(0.5, drawn.current!.sigma.getCamera().ratio) }, { duration: 250 });
    }
  }, [find, chosen]); // eslint-disable-line react-hooks/exhaustive-deps

  return <div ref={box} className="graph-canvas" role="img" aria-label={`${graph.nodes.length} memories and ${graph.edges.length} relations; the list beside it holds the same`} />;
}

/** The box of all nodes, with room for a name at the right of the last one. */
function withRoom(positions: FromLayout["positions"], element: HTMLElement): { x: [number, number]; y: [number, number] } {
  const [xs, ys] = [0, 1].map((axis) => Array.from(positions).filter((_, at) => at % 2 === axis)) as [number[], number[]];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const room = element.clientWidth < 600 ? 140 : 240;
  const wide = (right - left) / Math.max(1, element.clientWidth - room);
  const tall = (high - low) / Math.max(1, element.clientHeight);
  return { x: [left, right + room * Math.max(wide, tall)], y: [low, high] };
}

function shortened(label: string, most: number): string {
  return label.length <= most ? label : `${label.slice(0, most - 2).trimEnd()}…`;
}
