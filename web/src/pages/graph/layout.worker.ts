/** Lays a graph out away from the page, so that 5,000 nodes stop nobody's hand. Says positions every few rounds. */
import Graph from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";

export interface ToLayout {
  nodes: { id: string; x: number; y: number; size: number }[];
  edges: [string, string, number][];
  rounds: number;
}

export interface FromLayout {
  positions: Float32Array;
  done: number;
}

self.onmessage = (event: MessageEvent<ToLayout>) => {
  const { nodes, edges, rounds } = event.data;
  const graph = new Graph({ multi: false, type: "undirected" });
  for (const { id, ...place } of nodes) graph.addNode(id, place);
  for (const [source, target, weight] of edges) if (source !== target) graph.mergeEdge(source, target, { weight });
  const settings = { ...forceAtlas2.inferSettings(graph), barnesHutOptimize: nodes.length > 300, gravity: 0.6, scalingRatio: 6, slowDown: 4, linLogMode: false };
  const step = nodes.length > 2000 ? 4 : 10;
  for (let done = step; done <= rounds; done += step) {
    forceAtlas2.assign(graph, { iterations: step, settings });
    const positions = new Float32Array(nodes.length * 2);
    nodes.forEach(({ id }, at) => {
      positions[2 * at] = graph.getNodeAttribute(id, "x") as number;
      positions[2 * at + 1] = graph.getNodeAttribute(id, "y") as number;
    });
    const answer: FromLayout = { positions, done: done / rounds };
    self.postMessage(answer, { transfer: [positions.buffer] });
  }
  self.close();
};
