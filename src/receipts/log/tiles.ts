/** Paths and contents of tiles (C2SP tlog-tiles): 256 hashes of one level of the tree, and bundles of 256 entries. */
import { createHash } from 'node:crypto';
import { AssayError } from '../../base/errors.ts';
import { combine, HASH_BYTES, leafHash, nodeHash, subtreesOf, type TreeNode } from '../../base/merkle.ts';
import { LOG_LIMITS } from './limits.ts';

/** Hashes of a full tile, and entries of a full bundle. */
export const TILE_WIDTH = 256;
/** Levels of the tree that one level of tiles spans. */
export const TILE_HEIGHT = 8;
/** Levels of tiles: above them, a tree of 2^48 entries has no hash. */
export const TILE_LEVELS = 7;

/** A tile of hashes, or a bundle of entries. */
export interface TileName {
  readonly level: number | 'entries';
  readonly index: number;
  /** Hashes or entries: 256 for a full tile, fewer for a partial one. */
  readonly width: number;
}

/** Returns the path of a tile below the prefix of its log: `tile/0/x001/234`, `tile/entries/001.p/7`. */
export function tilePath({ level, index, width }: TileName): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  const path = groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/');
  return `tile/${level}/${path}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
}

const PATH = /^tile\/(0|[1-9]|[1-5]\d|6[0-3]|entries)\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;

/** Parses the path of a tile; returns null if it is not in its only valid form. */
export function parseTilePath(path: string): TileName | null {
  const found = PATH.exec(path);
  if (found === null) return null;
  const [, level = '', groups = '', partial] = found;
  const index = Number(groups.replaceAll(/[x/]/g, ''));
  const width = partial === undefined ? TILE_WIDTH : Number(partial);
  const name: TileName = { level: level === 'entries' ? 'entries' : Number(level), index, width };
  return tilePath(name) === path && (partial === undefined || width < TILE_WIDTH) ? name : null;
}

/** Returns the number of hashes that the tiles of a level have in all, in a tree of `size` entries. */
const hashesOf = (level: number | 'entries', size: number): number =>
  Math.floor(size / TILE_WIDTH ** (level === 'entries' ? 0 : level));

/** Returns the number of hashes that tile `index` of a level has in a tree of `size` entries; 0 if there is no such tile. */
export const widthAt = (level: number | 'entries', index: number, size: number): number =>
  Math.max(0, Math.min(TILE_WIDTH, hashesOf(level, size) - index * TILE_WIDTH));

/** Lists the tiles that a tree of `size` entries has and one of `from` entries had not, those of partial tiles included. */
export function* tilesBetween(from: number, size: number): Generator<TileName> {
  if (size > LOG_LIMITS.treeSizeMax)
    throw new RangeError(`a tree has at most ${LOG_LIMITS.treeSizeMax} entries`);
  for (const level of ['entries', 0, 1, 2, 3, 4, 5, 6] as const) {
    const count = hashesOf(level, size);
    for (let index = Math.floor(hashesOf(level, from) / TILE_WIDTH); index * TILE_WIDTH < count; index += 1) {
      const width = widthAt(level, index, size);
      if (width > widthAt(level, index, from)) yield { level, index, width };
    }
  }
}

/** The tile that has a node of the tree, and the hashes in it below the node. */
export interface NodePlace {
  readonly level: number;
  readonly index: number;
  /** First of its hashes below the node, and the hash after the last. */
  readonly start: number;
  readonly end: number;
}

/** Returns the place of a node of the tree: it is one hash of a tile, or combined of several hashes of one tile. */
export function placeOf({ level, index }: TreeNode): NodePlace {
  const inside = level % TILE_HEIGHT;
  const width = 2 ** inside;
  const first = index * width;
  return {
    level: Math.floor(level / TILE_HEIGHT),
    index: Math.floor(first / TILE_WIDTH),
    start: first % TILE_WIDTH,
    end: (first % TILE_WIDTH) + width,
  };
}

/** Returns hash `at` of a tile. */
export const hashAt = (tile: Uint8Array, at: number): Buffer =>
  Buffer.from(tile.buffer, tile.byteOffset + at * HASH_BYTES, HASH_BYTES);

/** Returns the hash over the hashes `start` to `end` of a tile, the last one excluded. */
export const hashOver = (tile: Uint8Array, start: number, end: number): Buffer => {
  if (end - start === 1) return hashAt(tile, start);
  const middle = start + (end - start) / 2;
  return nodeHash(hashOver(tile, start, middle), hashOver(tile, middle, end));
};

/**
 * Reads tiles. A full tile may be returned in place of a partial one: a log may remove partial tiles that full ones replaced.
 */
export type ReadTile = (tile: TileName) => Promise<Uint8Array>;

/**
 * Reads hashes of the tree of `size` entries from tiles. Each tile is read once.
 *
 * @throws INVALID_FILE if a tile is too short, and the errors of `read`
 */
export class TileTree {
  readonly size: number;
  readonly #read: ReadTile;
  readonly #tiles = new Map<string, Promise<Uint8Array>>();

  constructor(size: number, read: ReadTile) {
    this.size = size;
    this.#read = read;
  }

  #tile(level: number, index: number): Promise<Uint8Array> {
    const key = `${level}/${index}`;
    const name: TileName = { level, index, width: widthAt(level, index, this.size) };
    const known = this.#tiles.get(key) ?? this.#read(name);
    this.#tiles.set(key, known);
    return known;
  }

  async #node(node: TreeNode): Promise<Buffer> {
    const { level, index, start, end } = placeOf(node);
    const tile = await this.#tile(level, index);
    if (tile.length < end * HASH_BYTES)
      throw new AssayError(
        'INVALID_FILE',
        `tile/${level}/${index}: has fewer hashes than the size of the log needs.`,
      );
    return hashOver(tile, start, end);
  }

  /** Returns the hashes of a proof. */
  hashes(parts: readonly (readonly TreeNode[])[]): Promise<Buffer[]> {
    return Promise.all(
      parts.map(async (nodes) => combine(await Promise.all(nodes.map((node) => this.#node(node))))),
    );
  }

  /** Returns the root of the first `size` entries. */
  async root(size = this.size): Promise<Buffer> {
    return (await this.hashes([subtreesOf(0, size)]))[0] as Buffer;
  }
}

const LENGTH_BYTES = 2;

/** Returns entries of 32 bytes as a bundle: each with its length before it. */
export function bundleOf(hashes: Uint8Array): Buffer {
  const count = hashes.length / HASH_BYTES;
  const bundle = Buffer.alloc(count * (LENGTH_BYTES + HASH_BYTES));
  for (let at = 0; at < count; at += 1) {
    const target = at * (LENGTH_BYTES + HASH_BYTES);
    bundle.writeUInt16BE(HASH_BYTES, target);
    bundle.set(hashAt(hashes, at), target + LENGTH_BYTES);
  }
  return bundle;
}

/**
 * Returns the leaf hashes of a bundle of entries of any length.
 *
 * @throws INVALID_FILE if the bundle ends within an entry
 */
export function leavesOfBundle(bundle: Uint8Array): Buffer[] {
  const bytes = Buffer.from(bundle.buffer, bundle.byteOffset, bundle.byteLength);
  const leaves: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = at + LENGTH_BYTES <= bytes.length ? bytes.readUInt16BE(at) : Number.POSITIVE_INFINITY;
    const end = at + LENGTH_BYTES + length;
    if (end > bytes.length) throw new AssayError('INVALID_FILE', 'entry bundle: ends within an entry.');
    leaves.push(leafHash(bytes.subarray(at + LENGTH_BYTES, end)));
    at = end;
  }
  return leaves;
}

/** Returns a strong validator of a tile for HTTP caches. */
export const tileTag = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
