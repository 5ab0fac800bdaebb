/**
 * A file with the tree of merkle.ts: a header, the addresses in ascending order, and the nodes from level 5 upward. Proofs read some
 * kilobytes of it. The nodes below level 5 are computed from 32 leaves, which makes the file 22 instead of 84 bytes per address.
 */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { systemRandom } from '../../base/random.ts';
import type { ChainId } from '../../chains/registry.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { asStorageFull } from '../../state/storage.ts';
import { ORACLE_LIMITS } from './limits.ts';
import {
  ADDRESS_BYTES,
  type Bounds,
  boundsOf,
  climb,
  depthOf,
  HASH_BYTES,
  MISSING,
  nodeAt,
  nodesAbove,
  rootOf,
  writeLeaf,
} from './merkle.ts';

const FORMAT = 1;
const HEADER_BYTES = 512;
/** The lowest level in the file. */
const STORED_LEVEL = 5;
const GROUP = 2 ** STORED_LEVEL;
const WRITE_BYTES = 1024 * 1024;
const DRAFT = /^building-.*\.tmp$/;

/** Facts of a tree. */
export interface TreeFacts {
  readonly chain: ChainId;
  /** Version of the labels that the tree was built from. */
  readonly dataVersion: string;
  /** Number of addresses. */
  readonly size: number;
  readonly depth: number;
  /** `0x` and hexadecimal. */
  readonly root: string;
}

interface Header extends TreeFacts {
  readonly format: number;
}

/** A proof that an address is in the set or not. */
export interface TreeProof extends Bounds {
  readonly isListed: boolean;
  /** Number of the leaf. */
  readonly index: number;
  /** The sibling at each level, from the leaf upward. */
  readonly path: readonly Uint8Array[];
}

export interface TreeFile {
  readonly facts: TreeFacts;
  /**
   * Returns the proof for an address. It is verified against the root before it is returned.
   *
   * @param address - 20 bytes
   * @throws STORE_CORRUPT if the file was changed
   */
  prove(address: Uint8Array): TreeProof;
  /** Yields all addresses, ascending. */
  addresses(): Generator<Uint8Array>;
  close(): void;
}

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;

/** Returns the path of the tree with a root. */
export const treePath = (folder: string, chain: ChainId, root: string): string =>
  join(folder, `${chain}-${root.slice(2)}.tree`);

/** Returns a path that no other build uses: the threads of a process share its number, and so do processes of two containers. */
const draftPath = (folder: string, chain: ChainId): string =>
  join(folder, `building-${chain}-${Buffer.from(systemRandom.bytes(8)).toString('hex')}.tmp`);

/** True for the name of a file that a build has not finished. */
export const isDraftName = (name: string): boolean => DRAFT.test(name);

/** Collects the nodes of level 5 while the leaves of each group arrive. */
class GroupHashes {
  readonly #group = new Uint8Array(GROUP * HASH_BYTES);
  #inGroup = 0;
  #nodes = new Uint8Array(1024 * HASH_BYTES);
  #count = 0;

  addLeaf(address: Uint8Array | null, next: Uint8Array | null): void {
    writeLeaf(address, next, this.#group, this.#inGroup * HASH_BYTES);
    if (++this.#inGroup === GROUP) this.#endGroup(STORED_LEVEL);
  }

  #endGroup(levels: number): void {
    let count = this.#inGroup;
    for (let level = 0; level < levels; level++) count = climb(this.#group, count);
    if ((this.#count + 1) * HASH_BYTES > this.#nodes.length) {
      const larger = new Uint8Array(this.#nodes.length * 2);
      larger.set(this.#nodes);
      this.#nodes = larger;
    }
    this.#nodes.set(this.#group.subarray(0, HASH_BYTES), this.#count++ * HASH_BYTES);
    this.#inGroup = 0;
  }

  /** Returns the nodes of level 5, or the root if the tree is not that high. */
  end(depth: number): { readonly nodes: Uint8Array; readonly count: number } {
    if (this.#inGroup > 0) this.#endGroup(Math.min(depth, STORED_LEVEL));
    return { nodes: this.#nodes, count: this.#count };
  }
}

/**
 * Builds the tree of ascending addresses as a file of `folder`. It replaces a file with the same root.
 *
 * The memory is one byte per address, for the nodes of level 5.
 *
 * @throws INTERNAL if the addresses are not strictly ascending, INVALID_REQUEST if there are too many, STORAGE_FULL
 */
export function writeTree(
  folder: string,
  facts: Pick<TreeFacts, 'chain' | 'dataVersion'>,
  addresses: Iterable<Uint8Array>,
): TreeFacts {
  mkdirSync(folder, PRIVATE_FOLDER);
  const draft = draftPath(folder, facts.chain);
  try {
    const file = openSync(draft, 'wx', PRIVATE_FILE);
    let written: TreeFacts;
    try {
      written = writeInto(file, facts, addresses);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, treePath(folder, written.chain, written.root));
    return written;
  } catch (error) {
    rmSync(draft, { force: true });
    throw asStorageFull(error, draft);
  }
}

function writeInto(
  file: number,
  facts: Pick<TreeFacts, 'chain' | 'dataVersion'>,
  addresses: Iterable<Uint8Array>,
): TreeFacts {
  const buffer = Buffer.alloc(WRITE_BYTES);
  let filled = 0;
  let position = HEADER_BYTES;
  const flush = (): void => {
    writeAll(file, buffer.subarray(0, filled), position);
    position += filled;
    filled = 0;
  };
  const groups = new GroupHashes();
  let before: Uint8Array | null = null;
  let size = 0;
  for (const address of addresses) {
    if (before !== null && Buffer.compare(before, address) >= 0)
      throw new AssayError('INTERNAL', 'The addresses of a tree must be strictly ascending.');
    if (size === ORACLE_LIMITS.treeAddressesMax)
      throw new AssayError(
        'INVALID_REQUEST',
        `A tree has at most ${ORACLE_LIMITS.treeAddressesMax} addresses.`,
      );
    groups.addLeaf(before, address);
    if (filled + ADDRESS_BYTES > buffer.length) flush();
    buffer.set(address, filled);
    filled += ADDRESS_BYTES;
    before = Uint8Array.from(address);
    size++;
  }
  groups.addLeaf(before, null);
  flush();
  const depth = depthOf(size);
  const level = groups.end(depth);
  let { count } = level;
  for (let height = STORED_LEVEL; height <= depth; height++) {
    writeAll(file, level.nodes.subarray(0, count * HASH_BYTES), position);
    position += count * HASH_BYTES;
    if (height < depth) count = climb(level.nodes, count);
  }
  const tree = { ...facts, size, depth, root: hex(level.nodes.subarray(0, HASH_BYTES)) };
  const header: Header = { format: FORMAT, ...tree };
  writeAll(file, Buffer.from(JSON.stringify(header).padEnd(HEADER_BYTES)), 0);
  return tree;
}

function writeAll(file: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, position + at);
}

const damaged = (path: string): AssayError =>
  new AssayError('STORE_CORRUPT', `${path} is damaged. Remove it: it is built again from the labels.`);

/**
 * Opens a tree.
 *
 * @throws STORE_CORRUPT if the file is not a tree, has another length, or is not the tree of its name; ENOENT
 */
export function openTree(path: string): TreeFile {
  const file = openSync(path, 'r');
  try {
    const facts = readHeader(file, path);
    const isNamed = basename(path) === treePath('', facts.chain, facts.root);
    if (!isNamed || fstatSync(file).size !== fileBytes(facts)) throw damaged(path);
    return new MappedTree(file, path, facts);
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function readHeader(file: number, path: string): TreeFacts {
  const bytes = Buffer.alloc(HEADER_BYTES);
  readSync(file, bytes, 0, HEADER_BYTES, 0);
  let header: Partial<Header> | null;
  try {
    header = JSON.parse(bytes.toString('utf8').trimEnd()) as Partial<Header> | null;
  } catch {
    throw damaged(path);
  }
  const { format, chain, dataVersion, size, depth, root } = header ?? {};
  if (
    format !== FORMAT ||
    chain === undefined ||
    dataVersion === undefined ||
    typeof root !== 'string' ||
    !Number.isSafeInteger(size) ||
    size === undefined ||
    size < 0 ||
    depth !== depthOf(size)
  )
    throw damaged(path);
  return { chain, dataVersion, size, depth, root };
}

/** Returns the numbers of nodes of all levels, from the leaves to the root. */
function levelCounts({ size, depth }: TreeFacts): number[] {
  const counts = [size + 1];
  for (let level = 0; level < depth; level++) counts.push(nodesAbove(counts[level] as number));
  return counts;
}

const fileBytes = (facts: TreeFacts): number =>
  HEADER_BYTES +
  facts.size * ADDRESS_BYTES +
  levelCounts(facts)
    .slice(STORED_LEVEL)
    .reduce((sum, count) => sum + count * HASH_BYTES, 0);

class MappedTree implements TreeFile {
  readonly facts: TreeFacts;
  readonly #file: number;
  readonly #path: string;
  readonly #counts: readonly number[];

  constructor(file: number, path: string, facts: TreeFacts) {
    this.#file = file;
    this.#path = path;
    this.facts = facts;
    this.#counts = levelCounts(facts);
  }

  #read(position: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    if (readSync(this.#file, bytes, 0, length, position) !== length) throw damaged(this.#path);
    return bytes;
  }

  #address(index: number): Uint8Array {
    return this.#read(HEADER_BYTES + index * ADDRESS_BYTES, ADDRESS_BYTES);
  }

  /** Returns the number of addresses that are not greater: the leaf of an address, listed or not. */
  #leafOf(address: Uint8Array): number {
    let from = 0;
    let end = this.facts.size;
    while (from < end) {
      const middle = (from + end) >>> 1;
      if (Buffer.compare(this.#address(middle), address) <= 0) from = middle + 1;
      else end = middle;
    }
    return from;
  }

  prove(address: Uint8Array): TreeProof {
    const index = this.#leafOf(address);
    const before = index === 0 ? null : this.#address(index - 1);
    const bounds = boundsOf(before, index === this.facts.size ? null : this.#address(index));
    const path = [...this.#pathInGroup(index), ...this.#pathAbove(index)];
    if (hex(rootOf(bounds, index, path)) !== this.facts.root) throw damaged(this.#path);
    return {
      ...bounds,
      isListed: before !== null && Buffer.compare(before, address) === 0,
      index,
      path,
    };
  }

  /** Returns the siblings below level 5, from the leaves of the group. */
  #pathInGroup(index: number): Uint8Array[] {
    const { size, depth } = this.facts;
    const first = index - (index % GROUP);
    let count = Math.min(GROUP, size + 1 - first);
    const level = new Uint8Array(count * HASH_BYTES);
    for (let leaf = 0; leaf < count; leaf++) {
      const at = first + leaf;
      const address = at === 0 ? null : this.#address(at - 1);
      writeLeaf(address, at === size ? null : this.#address(at), level, leaf * HASH_BYTES);
    }
    const path: Uint8Array[] = [];
    let place = index % GROUP;
    for (let height = 0; height < Math.min(depth, STORED_LEVEL); height++) {
      path.push(Uint8Array.from(nodeAt(level, count, place ^ 1)));
      count = climb(level, count);
      place >>= 1;
    }
    return path;
  }

  #pathAbove(index: number): Uint8Array[] {
    const { size, depth } = this.facts;
    const path: Uint8Array[] = [];
    let position = HEADER_BYTES + size * ADDRESS_BYTES;
    let place = Math.floor(index / GROUP);
    for (let height = STORED_LEVEL; height < depth; height++) {
      const count = this.#counts[height] as number;
      const sibling = place ^ 1;
      path.push(sibling < count ? this.#read(position + sibling * HASH_BYTES, HASH_BYTES) : MISSING);
      position += count * HASH_BYTES;
      place >>= 1;
    }
    return path;
  }

  *addresses(): Generator<Uint8Array> {
    const perRead = Math.floor(WRITE_BYTES / ADDRESS_BYTES);
    for (let from = 0; from < this.facts.size; from += perRead) {
      const count = Math.min(perRead, this.facts.size - from);
      const bytes = this.#read(HEADER_BYTES + from * ADDRESS_BYTES, count * ADDRESS_BYTES);
      for (let at = 0; at < bytes.length; at += ADDRESS_BYTES) yield bytes.subarray(at, at + ADDRESS_BYTES);
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}
