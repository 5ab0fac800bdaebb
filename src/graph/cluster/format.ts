/**
 * The files of clusters: one folder per chain, one LMDB file per build, and a pointer to the current build.
 *
 *   clusters/BTC/current.json    the current build, and its input
 *   clusters/BTC/<build>.lmdb    arrays in parts: address → cluster, clusters, members by cluster
 *   clusters/BTC/building/       the links of the blocks read so far, for the next build (scan.ts)
 *
 * Addresses are stored as their numbers in the outputs store, 4 bytes each. The keys are stored only there.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import type { ChainId } from '../../chains/registry.ts';
import { readJson, writeJsonAtomically } from '../../state/atomic-file.ts';
import { wrongFormat } from '../../state/format-version.ts';
import { type Database, openEnvironment, type RootDatabase } from '../../state/lmdb.ts';
import type { LinkCounts } from './links.ts';

/** Changes when the meaning of any bytes changes. A version is never reused. */
export const FORMAT = 2;
const POINTER = 'current.json';
/** All 4.3 billion possible numbers of addresses take 40 GB. The map takes address space only. */
const MAP_BYTES = 128 * 1024 ** 3;

/** The build of a chain's clusters, and its input. */
export interface ClusterBuild extends LinkCounts {
  readonly format: number;
  readonly chain: ChainId;
  readonly build: string;
  readonly builtAt: string;
  /** Clusters of at least two addresses. */
  readonly clusters: number;
  /** Addresses in them. */
  readonly clustered: number;
  readonly superClusters: number;
  readonly largest: number;
  readonly completeHistory: boolean;
  readonly firstBlock: number | null;
  readonly lastBlock: number | null;
  /** Time of the newest block, ISO 8601. Null if no transaction was read. */
  readonly asOf: string | null;
  /** Identifies the numbering of addresses (`numberingOf`). */
  readonly numbering: string;
  /** The highest number of an address. */
  readonly highest: number;
}

/** A table of one build: an array of fixed-size rows of 32-bit words, stored in parts of `rows` rows, in a database of its own. */
interface Table {
  readonly name: string;
  readonly words: number;
  readonly rows: number;
}

/**
 * A part is four pages of LMDB, without the header of the first: small enough that reading one row copies little, and large enough that a
 * billion rows have a quarter of a million keys.
 */
const PART_WORDS = (4 * 4096 - 16) / 4;
export const TABLES = {
  /** By address number: its cluster, 0 for none. */
  clusterOf: { name: 'cluster-of', words: 1, rows: PART_WORDS },
  /** By cluster, from 1: place of its first member (low and high word), size, attribute, and the member with the smallest key. */
  clusters: { name: 'clusters', words: 5, rows: Math.floor(PART_WORDS / 5) },
  /** Address numbers by cluster, ascending within each. */
  members: { name: 'members', words: 1, rows: PART_WORDS },
} as const satisfies Record<string, Table>;

/** Opens the file of a build. */
export function openBuild(path: string, readOnly: boolean): RootDatabase {
  return openEnvironment(path, {
    readOnly,
    noSubdir: true,
    maxDbs: 3,
    mapSize: MAP_BYTES,
    // No reader uses a build before its pointer is written. The file is synced once, at the end.
    ...(readOnly ? {} : { noSync: true, noMemInit: true }),
  });
}

const partsOf = (root: RootDatabase, { name }: Table): Database<Buffer, number> =>
  root.openDB({ name, encoding: 'binary', keyEncoding: 'uint32' });

/** Parts that are written in one transaction: 4 MB. */
const PARTS_WRITTEN = 256;

/** Writes the rows of one table in order. */
export class TableWriter {
  readonly #stored: Database<Buffer, number>;
  readonly #table: Table;
  readonly #words: Uint32Array;
  #used = 0;
  #parts = 0;

  constructor(root: RootDatabase, table: Table) {
    this.#stored = partsOf(root, table);
    this.#table = table;
    this.#words = new Uint32Array(table.rows * table.words * PARTS_WRITTEN);
  }

  /** Appends words; a whole number of rows before `end`. */
  add(words: Uint32Array): void {
    for (let at = 0; at < words.length; ) {
      const taken = Math.min(words.length - at, this.#words.length - this.#used);
      this.#words.set(words.subarray(at, at + taken), this.#used);
      this.#used += taken;
      at += taken;
      if (this.#used === this.#words.length) this.end();
    }
  }

  /** Writes the rows that are not written yet. No row may be added after a part that is not full. */
  end(): void {
    const partWords = this.#table.rows * this.#table.words;
    this.#stored.transactionSync(() => {
      for (let at = 0; at < this.#used; at += partWords) {
        const length = Math.min(partWords, this.#used - at);
        const bytes = Buffer.from(this.#words.buffer, at * 4, length * 4);
        this.#stored.putSync(this.#parts++, bytes);
      }
    });
    this.#used = 0;
  }
}

/** Reads the rows of one table. */
export class TableReader {
  readonly #stored: Database<Buffer, number>;
  readonly #table: Table;
  readonly #file: string;
  #part = -1;
  #bytes: Buffer | undefined;

  /** @param file - the path of the build, for errors */
  constructor(root: RootDatabase, table: Table, file: string) {
    this.#stored = partsOf(root, table);
    this.#table = table;
    this.#file = file;
  }

  /**
   * Returns a word of a row.
   *
   * @throws STORE_CORRUPT for a row that was not written
   */
  read(row: number, word = 0): number {
    const { rows, words } = this.#table;
    const part = Math.floor(row / rows);
    if (part !== this.#part) {
      this.#bytes = this.#stored.getBinary(part);
      this.#part = part;
    }
    const at = ((row % rows) * words + word) * 4;
    if (this.#bytes === undefined || at + 4 > this.#bytes.length)
      throw new AssayError('STORE_CORRUPT', `${this.#file} has no row ${row}. Run 'assay cluster' again.`);
    return this.#bytes.readUInt32LE(at);
  }
}

/**
 * Reads the pointer of a chain's folder; null if there is none.
 *
 * @param folder - the folder of the chain, which has its name
 * @throws STORE_CORRUPT, STORE_VERSION
 */
export function readPointer(folder: string): ClusterBuild | null {
  const path = join(folder, POINTER);
  if (!existsSync(path)) return null;
  const remedy = `Run 'assay cluster ${basename(folder)}' again.`;
  let build: ClusterBuild;
  try {
    build = readJson(path) as ClusterBuild;
  } catch (cause) {
    throw new AssayError('STORE_CORRUPT', `${path} cannot be read. ${remedy}`, { cause });
  }
  if (build.format === FORMAT) return build;
  throw wrongFormat(path, build.format, FORMAT, remedy);
}

/** Publishes a build. */
export const writePointer = (folder: string, build: ClusterBuild): void =>
  writeJsonAtomically(join(folder, POINTER), build);

/** Addresses whose keys identify a numbering: an outputs store that was ingested again gives other numbers from one of the first on. */
const SAMPLED = 64;

/**
 * Identifies the numbering of addresses up to `highest` by a hash of the keys of some of them.
 *
 * @returns null if one of them has no key
 */
export function numberingOf(highest: number, keyOf: (number: number) => AddressKey | null): string | null {
  const hash = createHash('sha256');
  for (let at = 1; at <= SAMPLED; at++) {
    const key = highest === 0 ? Buffer.alloc(0) : keyOf(Math.max(1, Math.floor((highest * at) / SAMPLED)));
    if (key === null) return null;
    hash.update(Buffer.from([key.length & 0xff, key.length >>> 8])).update(key);
  }
  return hash.digest('hex');
}
