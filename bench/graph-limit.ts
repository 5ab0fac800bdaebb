/** The limit of the graph benchmark: the same traces by a C program over arrays in memory (csr-trace.c). Needs a C compiler. Run by graph.ts. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../src/base/paths.ts';
import type { Direction } from '../src/graph/flow.ts';
import { createNeighbourColumns, type NodeId, type TransferGraph } from '../src/graph/graph.ts';
import type { EdgeList } from '../src/graph/kernels/edge-columns.ts';
import { RowReader } from '../src/graph/kernels/rows.ts';
import { isService, TRACE, WEIGHING } from './graph-subject.ts';

const COMPILER = 'cc';

export interface LimitResult {
  readonly milliseconds: readonly number[];
  /** Digest of the edges of each start, in the order of the trace. */
  readonly digests: readonly number[];
}

/** The digest that csr-trace.c computes. */
export function orderedDigest({ count, from, to }: EdgeList): number {
  let digest = 0;
  for (let at = 0; at < count; at++) {
    digest = Math.imul(digest ^ (from[at] as number), 0x9e3779b1) ^ (to[at] as number);
    digest = Math.imul(digest, 0x85ebca6b);
  }
  return digest >>> 0;
}

export const hasCompiler = (): boolean => spawnSync(COMPILER, ['--version']).status === 0;

/** Traces each start with the C program, which is built and fed in a temporary folder. */
export function traceByArrays(graph: TransferGraph, starts: readonly NodeId[]): LimitResult {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-limit-'));
  try {
    const program = join(folder, 'csr-trace');
    run(COMPILER, ['-O2', '-o', program, join(projectRoot, 'bench', 'csr-trace.c')]);
    const file = join(folder, 'graph');
    writeArrays(graph, file);
    const limits = [TRACE.hops, TRACE.nodesMax, TRACE.edgesMax].map(String);
    const lines = run(program, [file, ...limits], starts.join('\n'))
      .trim()
      .split('\n');
    const results = lines.map((line) => line.split(' ').map(Number));
    return {
      milliseconds: results.map(([milliseconds = Number.NaN]) => milliseconds),
      digests: results.map(([, , , digest = Number.NaN]) => digest),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(program: string, args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
  return stdout;
}

/** Writes the rows of all addresses in the order of a trace, and which addresses it passes. */
function writeArrays(graph: TransferGraph, path: string): void {
  const { nodeCount } = graph;
  const rows = new RowReader(graph, WEIGHING);
  const neighbours = createNeighbourColumns(TRACE.degreeMax);
  const file = openSync(path, 'w');
  writeWhole(file, Uint32Array.of(nodeCount));
  for (const direction of ['out', 'in'] satisfies Direction[]) {
    const offsets = new Uint32Array(nodeCount + 2);
    for (let node = 1; node <= nodeCount; node++)
      offsets[node + 1] =
        (offsets[node] as number) + Math.min(TRACE.degreeMax, graph.degree(node, direction));
    const ids = new Uint32Array(offsets[nodeCount + 1] as number);
    const weights = new Float64Array(ids.length);
    for (let node = 1; node <= nodeCount; node++) {
      const begin = offsets[node] as number;
      const count = rows.readAll(node, direction, TRACE.degreeMax, neighbours);
      if (count !== (offsets[node + 1] as number) - begin)
        throw new Error(`Address ${node} has another degree.`);
      ids.set(neighbours.ids.subarray(0, count), begin);
      weights.set(neighbours.weight.subarray(0, count), begin);
    }
    writeWhole(file, offsets);
    writeWhole(file, ids);
    writeWhole(file, weights);
  }
  const passes = new Uint8Array(nodeCount + 1);
  for (let node = 1; node <= nodeCount; node++)
    passes[node] = isService(node) || rows.isHub(node, TRACE.degreeMax) ? 0 : 1;
  writeWhole(file, passes);
  closeSync(file);
}

function writeWhole(file: number, array: Uint8Array | Uint32Array | Float64Array): void {
  const bytes = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
  for (let at = 0; at < bytes.length; )
    at += writeSync(file, bytes, at, Math.min(bytes.length - at, 1 << 26));
}
