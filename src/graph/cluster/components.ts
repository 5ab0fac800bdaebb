/**
 * The sets that links between addresses form, for more addresses than memory holds. Addresses are numbers; a bucket is a range of them that
 * fits into memory, and every link is stored with its larger end.
 *
 * The first pass takes the buckets from the last to the first (node reduction by buckets: Dementiev, Sanders, Schultes, Sibeyn:
 * "Engineering an External Memory Minimum Spanning Tree Algorithm", TCS 2004). It joins the addresses within the bucket by union–find. Of
 * the earlier addresses that a set is linked with, one becomes its parent, and links to the others become links between that parent and
 * them. So each link moves to an earlier bucket or disappears, and no link is left at the end. The second pass takes the buckets from the
 * first to the last: each set takes the number of its parent's set.
 *
 * All files are written and read sequentially. Memory depends only on the size of a bucket.
 */
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { PRIVATE_FILE } from '../../state/data-folder.ts';
import { asStorageFull } from '../../state/storage.ts';
import { fill, Spill, type SpillEnd } from './spill.ts';
import { createUnionFind } from './union-find.ts';

/** Links as records of three words: the larger number, the smaller one, and the attribute of the link. Stored by the larger number. */
export class LinkLog {
  /** Links within a bucket. */
  readonly inner: Spill;
  /** Links between two buckets. */
  readonly crossing: Spill;
  readonly bucketBits: number;

  /**
   * @param bucketBits - a bucket has two to the power of this many numbers
   * @param ends - ends of an earlier log to continue. Default: an earlier log is removed.
   */
  constructor(folder: string, name: string, bucketBits: number, ends?: LinkLogEnds) {
    this.bucketBits = bucketBits;
    this.inner = new Spill(folder, `${name}-inner`, 3, ends?.inner);
    this.crossing = new Spill(folder, `${name}-crossing`, 3, ends?.crossing);
  }

  add(a: number, b: number, attribute: number): void {
    const larger = Math.max(a, b);
    const smaller = Math.min(a, b);
    const bucket = larger >>> this.bucketBits;
    const log = smaller >>> this.bucketBits === bucket ? this.inner : this.crossing;
    log.add(bucket, larger, smaller, attribute);
  }

  /** Throws STORE_CORRUPT if a file is not as it was written. */
  verify(): void {
    this.inner.verify();
    this.crossing.verify();
  }

  remove(bucket: number): void {
    this.inner.remove(bucket);
    this.crossing.remove(bucket);
  }

  /** Writes everything to disk and returns the ends of the files. */
  sync(): LinkLogEnds {
    return { inner: this.inner.sync(), crossing: this.crossing.sync() };
  }
}

export interface LinkLogEnds {
  readonly inner: readonly SpillEnd[];
  readonly crossing: readonly SpillEnd[];
}

/** Attributes are the union of eight flags, and the maximum of a number above them. */
export const mergeAttributes = (a: number, b: number): number => {
  const high = Math.max(a >>> 8, b >>> 8);
  return ((a | b) & 0xff) | (high << 8);
};

/** Receives the result, in ascending order. */
export interface ComponentsSink {
  /** A set of at least two addresses. They are numbered from 1, in the order of their smallest address. */
  set(size: number, attribute: number): void;
  /** The set of each address from `first` on, 0 for an address that is alone. All of these sets were passed before. */
  addresses(first: number, sets: Uint32Array): void;
}

export interface ComponentsOptions {
  readonly links: LinkLog;
  /** A folder for temporary files. */
  readonly folder: string;
  /** Numbers are below this. Number 0 is no address. */
  readonly count: number;
  /** Called before each bucket of each pass, where the work can end with an error. */
  readonly onBucket: (done: number, total: number) => Promise<void>;
}

const NO_PARENT = 0;

/** Finds the sets. Everything that it writes is below `folder`, and is removed as soon as it was read for the last time. */
export async function findComponents(options: ComponentsOptions, sink: ComponentsSink): Promise<void> {
  const { links, folder, count, onBucket } = options;
  const { bucketBits } = links;
  const bucketSize = Math.min(2 ** bucketBits, Math.max(count, 1));
  const buckets = Math.ceil(count / 2 ** bucketBits);
  const sets = createUnionFind(bucketSize);
  const words = [0, 1, 2].map(() => new Uint32Array(bucketSize)) as [Uint32Array, Uint32Array, Uint32Array];
  const moved = new LinkLog(folder, 'moved', bucketBits);
  /** (parent, smallest number of the set, size, attribute), by the bucket of the parent. */
  const children = new Spill(folder, 'children', 4);
  /** (smallest number, size, attribute) of sets without a parent, by bucket. */
  const roots = new Spill(folder, 'roots', 3);
  /** (smallest number, number of the set) of sets with a parent, by bucket. */
  const answers = new Spill(folder, 'answers', 2);
  const forest = (bucket: number): string => join(folder, `forest-${bucket}`);
  const bounds = (bucket: number) => {
    const first = bucket * 2 ** bucketBits;
    return { first, size: Math.min(2 ** bucketBits, count - first) };
  };

  function reduce(bucket: number): void {
    const { first, size } = bounds(bucket);
    const [parents, sizes, attributes] = words;
    parents.fill(NO_PARENT);
    sizes.fill(1);
    attributes.fill(0);
    sets.reset(size);
    for (const log of [links.inner, moved.inner])
      for (const chunk of log.read(bucket))
        for (let at = 0; at < chunk.length; at += 3) {
          const larger = (chunk[at] as number) - first;
          sets.union(larger, (chunk[at + 1] as number) - first);
          attributes[larger] = mergeAttributes(attributes[larger] as number, chunk[at + 2] as number);
        }
    const tops = sets.flatten();
    for (const log of [links.crossing, moved.crossing])
      for (const chunk of log.read(bucket))
        for (let at = 0; at < chunk.length; at += 3) {
          const top = tops[(chunk[at] as number) - first] as number;
          const earlier = chunk[at + 1] as number;
          attributes[top] = mergeAttributes(attributes[top] as number, chunk[at + 2] as number);
          const known = parents[top] as number;
          if (known === earlier) continue;
          parents[top] = known === NO_PARENT || earlier < known ? earlier : known;
          if (known === NO_PARENT) continue;
          moved.add(known, earlier, 0);
        }
    moved.remove(bucket);
    for (const chunk of children.read(bucket))
      for (let at = 0; at < chunk.length; at += 4) {
        const member = (chunk[at] as number) - first;
        sizes[member] = (sizes[member] as number) + (chunk[at + 2] as number);
        attributes[member] = mergeAttributes(attributes[member] as number, chunk[at + 3] as number);
      }
    for (let id = 0; id < size; id++) {
      const top = tops[id] as number;
      if (top === id) continue;
      sizes[top] = (sizes[top] as number) + (sizes[id] as number);
      attributes[top] = mergeAttributes(attributes[top] as number, attributes[id] as number);
    }
    for (let id = 0; id < size; id++) {
      if (tops[id] !== id) continue;
      const parent = parents[id] as number;
      const all = sizes[id] as number;
      if (parent !== NO_PARENT)
        children.add(parent >>> bucketBits, parent, first + id, all, attributes[id] as number);
      else if (all > 1) roots.add(bucket, first + id, all, attributes[id] as number);
    }
    writeWords(forest(bucket), tops);
  }

  let setCount = 0;
  function number(bucket: number): void {
    const { first, size } = bounds(bucket);
    const [numbers, result, topWords] = words;
    numbers.fill(0);
    for (const chunk of roots.read(bucket))
      for (let at = 0; at < chunk.length; at += 3) {
        numbers[(chunk[at] as number) - first] = ++setCount;
        sink.set(chunk[at + 1] as number, chunk[at + 2] as number);
      }
    roots.remove(bucket);
    for (const chunk of answers.read(bucket))
      for (let at = 0; at < chunk.length; at += 2)
        numbers[(chunk[at] as number) - first] = chunk[at + 1] as number;
    answers.remove(bucket);
    const tops = topWords.subarray(0, size);
    readWords(forest(bucket), tops);
    rmSync(forest(bucket));
    for (let id = 0; id < size; id++) result[id] = numbers[tops[id] as number] as number;
    sink.addresses(first, result.subarray(0, size));
    for (const chunk of children.read(bucket))
      for (let at = 0; at < chunk.length; at += 4) {
        const child = chunk[at + 1] as number;
        answers.add(child >>> bucketBits, child, result[(chunk[at] as number) - first] as number);
      }
    children.remove(bucket);
  }

  for (let bucket = buckets - 1; bucket >= 0; bucket--) {
    await onBucket(buckets - 1 - bucket, 2 * buckets);
    reduce(bucket);
  }
  for (let bucket = 0; bucket < buckets; bucket++) {
    await onBucket(buckets + bucket, 2 * buckets);
    number(bucket);
  }
}

function writeWords(path: string, words: Int32Array): void {
  try {
    writeFileSync(path, words, { mode: PRIVATE_FILE });
  } catch (error) {
    throw asStorageFull(error, path);
  }
}

function readWords(path: string, words: Uint32Array): void {
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  const file = openSync(path, 'r');
  try {
    if (fill(file, bytes, bytes.length) < bytes.length)
      throw new AssayError('STORE_CORRUPT', `${path} is shorter than it was written.`);
  } finally {
    closeSync(file);
  }
}
