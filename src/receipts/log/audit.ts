/**
 * Audits of a log: whether its tiles and entries give the root of its checkpoint, and whether a checkpoint continues an older one.
 */
import { AssayError } from '../../base/errors.ts';
import { consistencyParts, HASH_BYTES, isConsistent, MerkleFrontier } from '../../base/merkle.ts';
import type { Checkpoint } from './checkpoint.ts';
import {
  hashAt,
  hashOver,
  leavesOfBundle,
  TILE_LEVELS,
  TILE_WIDTH,
  type TileName,
  TileTree,
  tilePath,
  widthAt,
} from './tiles.ts';

type Read = (tile: TileName) => Promise<Uint8Array>;

/** Faults that are listed: a log of another key has one in every tile. */
const FAULTS_MAX = 100;

export interface LogReport {
  readonly origin: string;
  readonly size: number;
  /** Tiles and entry bundles that were read. */
  readonly tiles: number;
  /** One sentence each. Empty if the log is intact. */
  readonly faults: readonly string[];
}

/** Reads all tiles of a log and compares each hash. */
class Verification {
  readonly faults: string[] = [];
  tiles = 0;
  readonly #read: Read;
  readonly #size: number;

  constructor(size: number, read: Read) {
    this.#size = size;
    this.#read = read;
  }

  fault(sentence: string): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push(sentence);
  }

  async #tile(
    level: TileName['level'],
    index: number,
  ): Promise<{ name: TileName; bytes: Uint8Array | null }> {
    const name = { level, index, width: widthAt(level, index, this.#size) };
    this.tiles += 1;
    try {
      return { name, bytes: await this.#read(name) };
    } catch (error) {
      // The log is unreachable, or the store is damaged: this says nothing about a tile.
      if (!(error instanceof AssayError) || error.code !== 'INVALID_FILE') throw error;
      this.fault(error.message);
      return { name, bytes: null };
    }
  }

  /** Reads a tile and compares it with the hashes that follow from the level below. */
  async compare(level: number, index: number, expected: readonly Buffer[]): Promise<void> {
    const { name, bytes } = await this.#tile(level, index);
    if (bytes === null) return;
    const wrong = expected.findIndex(
      (hash, at) => bytes.length < (at + 1) * HASH_BYTES || !hash.equals(hashAt(bytes, at)),
    );
    if (wrong >= 0)
      this.fault(
        level === 0
          ? `${tilePath(name)}: hash ${wrong} is not the hash of its entry.`
          : `${tilePath(name)}: hash ${wrong} is not the hash of the tile below it.`,
      );
  }

  /** Returns the leaf hashes of an entry bundle; of a missing or damaged bundle, those of its tile. */
  async leaves(index: number): Promise<readonly Buffer[]> {
    const { name, bytes } = await this.#tile('entries', index);
    if (bytes === null) return this.#leavesOfTile(index);
    try {
      const leaves = leavesOfBundle(bytes);
      if (leaves.length >= name.width) return leaves.slice(0, name.width);
      this.fault(`${tilePath(name)}: has ${leaves.length} entries; expected ${name.width}.`);
    } catch (error) {
      this.fault(`${tilePath(name)}: ${(error as Error).message}`);
    }
    return this.#leavesOfTile(index);
  }

  async #leavesOfTile(index: number): Promise<readonly Buffer[]> {
    const { name, bytes } = await this.#tile(0, index);
    return bytes === null || bytes.length < name.width * HASH_BYTES
      ? []
      : Array.from({ length: name.width }, (_, at) => hashAt(bytes, at));
  }
}

/**
 * Reads a whole log: every entry has its hash in its tile, every full tile its hash in the tile above, and the entries give the root of the
 * checkpoint.
 *
 * @param onProgress called with the entries that were read
 * @throws SOURCE_UNAVAILABLE, STORE_CORRUPT
 */
export async function verifyLog(
  { origin, size, root }: Checkpoint,
  read: Read,
  {
    signal,
    onProgress,
  }: { readonly signal?: AbortSignal; readonly onProgress?: (done: number) => void } = {},
): Promise<LogReport> {
  const verification = new Verification(size, read);
  const frontier = new MerkleFrontier();
  let below: Buffer[] = [];
  for (let index = 0; index * TILE_WIDTH < size; index += 1) {
    signal?.throwIfAborted();
    const leaves = await verification.leaves(index);
    await verification.compare(0, index, leaves);
    for (const leaf of leaves) frontier.append(leaf);
    if (leaves.length === TILE_WIDTH) below.push(hashOver(Buffer.concat(leaves), 0, TILE_WIDTH));
    onProgress?.(Math.min(size, (index + 1) * TILE_WIDTH));
  }
  for (let level = 1; level < TILE_LEVELS && below.length > 0; level += 1) {
    const above: Buffer[] = [];
    for (let start = 0; start < below.length; start += TILE_WIDTH) {
      signal?.throwIfAborted();
      const hashes = below.slice(start, start + TILE_WIDTH);
      await verification.compare(level, start / TILE_WIDTH, hashes);
      if (hashes.length === TILE_WIDTH) above.push(hashOver(Buffer.concat(hashes), 0, TILE_WIDTH));
    }
    below = above;
  }
  if (!frontier.root().equals(root))
    verification.fault(`checkpoint: the ${size} entries do not give its root hash.`);
  return { origin, size, tiles: verification.tiles, faults: verification.faults };
}

/** The result of an audit. `rollback`: the newer checkpoint has fewer entries. `fork`: it does not contain the older log. */
export type Finding = 'consistent' | 'rollback' | 'fork';

/**
 * Compares two checkpoints of a log, the older one first.
 *
 * @param read reads the tiles of the newer log; not called if both have the same size, or if one is empty
 * @throws INVALID_FILE if they are of two logs, or if the tiles do not give the root of the newer checkpoint
 */
export async function auditCheckpoints(older: Checkpoint, newer: Checkpoint, read: Read): Promise<Finding> {
  if (older.origin !== newer.origin)
    throw new AssayError(
      'INVALID_FILE',
      `checkpoint: they are of two logs, ${older.origin} and ${newer.origin}.`,
    );
  if (older.size > newer.size) return 'rollback';
  if (older.size === newer.size || older.size === 0)
    return isConsistent(older, newer, []) ? 'consistent' : 'fork';
  const tree = new TileTree(newer.size, read);
  if (!(await tree.root()).equals(newer.root))
    throw new AssayError(
      'INVALID_FILE',
      `checkpoint: the tiles of ${newer.origin} do not give its root hash.`,
    );
  const proof = await tree.hashes(consistencyParts(older.size, newer.size));
  return isConsistent(older, newer, proof) ? 'consistent' : 'fork';
}
