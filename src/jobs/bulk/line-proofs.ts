/** The Merkle tree over the results of a job: its root, and the proof of one line. Only the chunk of that line is read again. */
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AssayError } from '../../base/errors.ts';
import {
  combine,
  coverOf,
  HASH_BYTES,
  inclusionParts,
  MerkleFrontier,
  nodeHash,
  type TreeNode,
} from '../../base/merkle.ts';
import { LineLeaves, lineSalt } from '../../base/salted-lines.ts';
import type { ResultLines, ResultProof } from '../bulk-jobs.ts';
import type { ChunkRecord, JobRecord, JobStore } from './job-store.ts';
import type { JobPlaces } from './places.ts';

const NEWLINE = 0x0a;
/** Lines that are hashed in one turn of the event loop: some 3 ms. */
const LINES_AT_ONCE = 1_024;

interface PlacedHash {
  readonly node: TreeNode;
  readonly hash: Buffer;
}

/** Returns the subtrees of a chunk; null if a worker of an earlier version answered it. */
function subtreesOf({ items, subtrees }: ChunkRecord, start: number): readonly PlacedHash[] | null {
  const nodes = coverOf(start, start + items);
  const bytes = Buffer.from(subtrees ?? '', 'hex');
  if (bytes.length !== nodes.length * HASH_BYTES) return null;
  return nodes.map((node, at) => ({ node, hash: bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES) }));
}

/**
 * Returns the number of the results of a job and their root.
 *
 * @returns null if a chunk was answered by a worker of an earlier version, so that no receipt can bind it
 */
export function linesOf({ id, prefix }: JobRecord, store: Pick<JobStore, 'chunk'>): ResultLines | null {
  const tree = new MerkleFrontier();
  for (let chunk = 0; chunk < prefix.chunks; chunk++) {
    const record = store.chunk(id, chunk);
    const subtrees = record === null ? null : subtreesOf(record, tree.size);
    if (subtrees === null) return null;
    for (const { node, hash } of subtrees) tree.appendSubtree(node, hash);
  }
  return { count: tree.size, root: tree.root().toString('hex') };
}

const keyOf = ({ level, index }: TreeNode): string => `${level}:${index}`;

/** Returns the hash of a perfect subtree: a known one, or that of its halves. */
function hashOf(node: TreeNode, known: ReadonlyMap<string, Buffer>): Buffer {
  const found = known.get(keyOf(node));
  if (found !== undefined) return found;
  if (node.level === 0)
    throw new AssayError('STORE_CORRUPT', `The result of a job has no line ${node.index}.`);
  const half = { level: node.level - 1, index: node.index * 2 };
  return nodeHash(hashOf(half, known), hashOf({ ...half, index: half.index + 1 }, known));
}

/** Adds the leaves of a chunk to the known hashes, and returns the text of one of its lines. */
async function readChunk(
  path: string,
  { secret, start, line }: { readonly secret: Buffer; readonly start: number; readonly line: number },
  known: Map<string, Buffer>,
): Promise<string> {
  const bytes = await readFile(path);
  const leaves = new LineLeaves();
  let text = '';
  let number = start;
  for (let at = 0; at < bytes.length; number++) {
    const cut = bytes.indexOf(NEWLINE, at);
    const end = cut < 0 ? bytes.length : cut;
    const own = bytes.subarray(at, end);
    if (number === line) text = own.toString('utf8');
    known.set(keyOf({ level: 0, index: number }), leaves.leafOf(lineSalt(secret, number), own));
    at = end + 1;
    if ((number - start) % LINES_AT_ONCE === LINES_AT_ONCE - 1) await nextTurn();
  }
  return text;
}

/**
 * Returns a line of the result of a job with its proof.
 *
 * @throws INVALID_REQUEST if there is no such line; STORE_CORRUPT if the files do not give the root of the job
 */
export async function lineProof(
  { id, prefix, receipt }: JobRecord,
  line: number,
  { store, places }: { readonly store: Pick<JobStore, 'chunk'>; readonly places: JobPlaces },
): Promise<ResultProof> {
  const lines = receipt?.lines ?? null;
  if (receipt === undefined || lines === null)
    throw new AssayError('INVALID_REQUEST', 'id: no receipt binds the result of this job.', { field: 'id' });
  if (line >= lines.count)
    throw new AssayError('INVALID_REQUEST', `line: must be below ${lines.count}, the lines of the result.`, {
      field: 'line',
    });
  const secret = Buffer.from(receipt.secret, 'hex');
  const known = new Map<string, Buffer>();
  let text = '';
  for (let chunk = 0, start = 0; chunk < prefix.chunks; chunk++) {
    const record = store.chunk(id, chunk);
    if (record === null) throw new AssayError('STORE_CORRUPT', `The job ${id} has no chunk ${chunk}.`);
    if (line >= start && line < start + record.items)
      text = await readChunk(places.answer(id, record.file), { secret, start, line }, known);
    else for (const { node, hash } of subtreesOf(record, start) ?? []) known.set(keyOf(node), hash);
    start += record.items;
  }
  const path = inclusionParts(line, lines.count).map((nodes) =>
    combine(nodes.map((node) => hashOf(node, known))).toString('hex'),
  );
  return { line, text, salt: lineSalt(secret, line).toString('hex'), path };
}
