// SPDX-License-Identifier: Apache-2.0
// Lays out a plan as a layered graph (Sugiyama). A tool is one layer after its last dependency. Within a layer, tools
// are near their neighbours (barycentre heuristic). An edge across several layers has its own slot in each, so that it
// passes between tools and not through them.

export interface Task {
  id: string;
  dependencies: readonly string[];
}

export interface Placed {
  id: string;
  layer: number;
  // The position in the layer, in units of one tool.
  across: number;
}

export interface Edge {
  from: string;
  to: string;
  // Its points in the layers, including both ends.
  points: { layer: number; across: number }[];
}

export interface Layout {
  nodes: Placed[];
  edges: Edge[];
  layers: number;
  // The size of the largest layer, in units of one tool.
  breadth: number;
}

// A slot in a layer: a tool, or a point of an edge that passes through.
interface Spot {
  id: string | undefined;
  layer: number;
  before: Spot[];
  behind: Spot[];
  order: number;
  across: number;
}

const passage = 0.35;
// The limit of slots for edges: more would only make the drawing larger and slower.
const mostPassages = 3000;
const sweeps = 8;

export function layOut(tasks: readonly Task[]): Layout {
  const byId = new Map<string, Spot>();
  for (const one of tasks) {
    if (!byId.has(one.id)) byId.set(one.id, spot(one.id, 0));
  }
  const ties = tiesOf(tasks, byId);
  putInLayers(byId, ties);
  const { layers, chains } = withPassages(byId, ties);
  sortLayers(layers);
  putAcross(layers);

  let breadth = 1;
  for (const layer of layers) for (const one of layer) breadth = Math.max(breadth, one.across + sizeOf(one) / 2);
  return {
    nodes: [...byId].map(([id, { layer, across }]) => ({ id, layer, across })),
    edges: chains.map((chain) => ({
      from: chain[0]!.id!,
      to: chain.at(-1)!.id!,
      points: chain.map(({ layer, across }) => ({ layer, across })),
    })),
    layers: layers.length,
    breadth,
  };
}

function spot(id: string | undefined, layer: number): Spot {
  return { id, layer, before: [], behind: [], order: 0, across: 0 };
}

// The dependencies on existing tools, without duplicates and self-dependencies.
function tiesOf(tasks: readonly Task[], byId: Map<string, Spot>): [Spot, Spot][] {
  const ties: [Spot, Spot][] = [];
  for (const task of tasks) {
    const to = byId.get(task.id)!;
    for (const id of new Set(task.dependencies)) {
      const from = byId.get(id);
      if (from !== undefined && from !== to) ties.push([from, to]);
    }
  }
  return ties;
}

// Kahn's algorithm. Tools in a cycle, which the runtime refuses anyway, stay where they are.
function putInLayers(byId: Map<string, Spot>, ties: readonly [Spot, Spot][]): void {
  const behind = new Map<Spot, Spot[]>();
  const missing = new Map<Spot, number>();
  for (const [from, to] of ties) {
    const list = behind.get(from);
    if (list === undefined) behind.set(from, [to]);
    else list.push(to);
    missing.set(to, (missing.get(to) ?? 0) + 1);
  }
  const ready = [...byId.values()].filter((one) => !missing.has(one));
  for (let index = 0; index < ready.length; ++index) {
    const from = ready[index]!;
    for (const to of behind.get(from) ?? []) {
      to.layer = Math.max(to.layer, from.layer + 1);
      const left = missing.get(to)! - 1;
      missing.set(to, left);
      if (left === 0) ready.push(to);
    }
  }
}

function withPassages(byId: Map<string, Spot>, ties: readonly [Spot, Spot][]): { layers: Spot[][]; chains: Spot[][] } {
  const layers: Spot[][] = [];
  const add = (one: Spot): void => {
    while (layers.length <= one.layer) layers.push([]);
    layers[one.layer]!.push(one);
  };
  for (const one of byId.values()) add(one);
  let passages = 0;
  for (const [from, to] of ties) passages += Math.max(0, to.layer - from.layer - 1);
  const chains = ties.map(([from, to]) => {
    const chain = [from];
    if (passages <= mostPassages) {
      for (let layer = from.layer + 1; layer < to.layer; ++layer) {
        const made = spot(undefined, layer);
        add(made);
        chain.push(made);
      }
    }
    chain.push(to);
    for (let index = 1; index < chain.length; ++index) {
      chain[index - 1]!.behind.push(chain[index]!);
      chain[index]!.before.push(chain[index - 1]!);
    }
    return chain;
  });
  return { layers, chains };
}

function sortLayers(layers: Spot[][]): void {
  const renumber = (layer: Spot[]): void => {
    for (const [index, one] of layer.entries()) one.order = index;
  };
  layers.forEach(renumber);
  let best = layers.map((layer) => [...layer]);
  let fewest = crossings(layers);
  const rounds = layers.reduce((sum, layer) => sum + layer.length, 0) > 1500 ? 2 : sweeps;
  for (let round = 0; round < rounds && fewest > 0; ++round) {
    const down = round % 2 === 0;
    for (const layer of down ? layers.slice(1) : layers.slice(0, -1).reverse()) {
      const centre = new Map(layer.map((one) => [one, mean(down ? one.before : one.behind, one.order)]));
      layer.sort((a, b) => centre.get(a)! - centre.get(b)! || a.order - b.order);
      renumber(layer);
    }
    const now = crossings(layers);
    if (now < fewest) {
      fewest = now;
      best = layers.map((layer) => [...layer]);
    }
  }
  for (const [index, layer] of best.entries()) {
    layers[index] = layer;
    renumber(layer);
  }
}

function mean(spots: readonly Spot[], otherwise: number): number {
  if (spots.length === 0) return otherwise;
  let sum = 0;
  for (const one of spots) sum += one.order;
  return sum / spots.length;
}

// The number of edge crossings between neighbouring layers: inversions, counted with a Fenwick tree.
function crossings(layers: readonly Spot[][]): number {
  let count = 0;
  for (const [index, layer] of layers.entries()) {
    const next = layers[index + 1];
    if (next === undefined) break;
    const sums = new Uint32Array(next.length + 1);
    let seen = 0;
    for (const from of layer) {
      const ends = from.behind.map((to) => to.order);
      for (const end of ends) {
        let upTo = 0;
        for (let at = end + 1; at > 0; at -= at & -at) upTo += sums[at]!;
        count += seen - upTo;
      }
      for (const end of ends) {
        for (let at = end + 1; at <= next.length; at += at & -at) sums[at] = sums[at]! + 1;
        ++seen;
      }
    }
  }
  return count;
}

// Moves each slot as near to the mean of its neighbours as the rest of its layer allows.
function putAcross(layers: readonly Spot[][]): void {
  for (const layer of layers) {
    let next = 0;
    for (const one of layer) {
      one.across = next + sizeOf(one) / 2;
      next += sizeOf(one);
    }
  }
  const widest = Math.max(0, ...layers.map((layer) => layer.reduce((sum, one) => sum + sizeOf(one), 0)));
  for (const layer of layers) {
    const free = (widest - layer.reduce((sum, one) => sum + sizeOf(one), 0)) / 2;
    for (const one of layer) one.across += free;
  }
  for (let round = 0; round < 6; ++round) {
    const down = round % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const wanted = layer.map((one) => {
        const ties = down ? one.before : one.behind;
        const used = ties.length > 0 ? ties : down ? one.behind : one.before;
        return used.length > 0 ? used.reduce((sum, other) => sum + other.across, 0) / used.length : one.across;
      });
      settle(layer, wanted);
    }
  }
  let least = Infinity;
  for (const layer of layers) for (const one of layer) least = Math.min(least, one.across - sizeOf(one) / 2);
  if (least === Infinity) return;
  for (const layer of layers) for (const one of layer) one.across -= least;
}

// Finds the positions nearest to the wanted ones that keep order and distance. Neighbours that would overlap form a
// block around the mean of their wanted positions (pool adjacent violators).
function settle(layer: readonly Spot[], wanted: readonly number[]): void {
  interface Block {
    from: number;
    count: number;
    sum: number;
  }
  const offsets: number[] = [];
  let next = 0;
  for (const one of layer) {
    offsets.push(next + sizeOf(one) / 2);
    next += sizeOf(one);
  }
  const blocks: Block[] = [];
  for (const [index, place] of wanted.entries()) {
    blocks.push({ from: index, count: 1, sum: place - offsets[index]! });
    while (blocks.length > 1) {
      const last = blocks.at(-1)!;
      const before = blocks.at(-2)!;
      if (before.sum / before.count <= last.sum / last.count) break;
      before.count += last.count;
      before.sum += last.sum;
      blocks.pop();
    }
  }
  for (const block of blocks) {
    for (let index = block.from; index < block.from + block.count; ++index) {
      layer[index]!.across = block.sum / block.count + offsets[index]!;
    }
  }
}

function sizeOf(one: Spot): number {
  return one.id === undefined ? passage : 1;
}
