/** The tags that mining pools write into the coinbase script of their blocks: data/pool-tags.json. */
import { readFileSync } from 'node:fs';
import { AssayError } from '../../base/errors.ts';
import { shippedData } from '../../base/paths.ts';
import { slugOf } from '../../labels/entities.ts';

export interface TaggedPool {
  /** Slug of the name: `foundry-usa`. */
  readonly id: string;
  readonly name: string;
}

/** Tags shorter than this occur by chance: a script has 100 bytes, of which miners fill most with counters. */
const TAG_BYTES_MIN = 6;

/** Finds the pool of a block. */
export class PoolTags {
  readonly #pools = new Map<string, TaggedPool>();
  readonly #tags: readonly { readonly bytes: Buffer; readonly pool: TaggedPool }[];

  /**
   * @param pools - each with its tags
   * @throws STORE_CORRUPT naming the row and field that is wrong
   */
  constructor(pools: readonly { readonly name?: unknown; readonly tags?: unknown }[]) {
    const tags: { readonly bytes: Buffer; readonly pool: TaggedPool }[] = [];
    for (const [at, { name, tags: texts }] of pools.entries()) {
      const invalid = (field: string, expected: string): AssayError =>
        new AssayError('STORE_CORRUPT', `pool-tags.json: pools[${at}].${field} must be ${expected}.`);
      if (typeof name !== 'string' || name.trim() === '') throw invalid('name', 'a name');
      if (!Array.isArray(texts) || texts.length === 0) throw invalid('tags', 'a list of tags');
      const pool = { id: slugOf(name), name };
      this.#pools.set(pool.id, pool);
      for (const text of texts) {
        const bytes = Buffer.from(String(text), 'utf8');
        if (typeof text !== 'string' || bytes.length < TAG_BYTES_MIN)
          throw invalid('tags', `texts of ${TAG_BYTES_MIN} bytes or more`);
        tags.push({ bytes, pool });
      }
    }
    this.#tags = tags.sort((a, b) => b.bytes.length - a.bytes.length);
  }

  /** Returns a pool by its id; null if it is not known. */
  byId(id: string): TaggedPool | null {
    return this.#pools.get(id) ?? null;
  }

  /**
   * Returns the pool whose tag a coinbase script has; null if it has none, or tags of several pools. A longer tag that contains another one
   * is the only one.
   *
   * @param script - the script in hex
   */
  poolOf(script: string): TaggedPool | null {
    const bytes = Buffer.from(script, 'hex');
    const [longest, ...others] = this.#tags.filter((tag) => bytes.includes(tag.bytes));
    if (longest === undefined) return null;
    const isOne = others.every(
      ({ bytes: other, pool }) => pool.id === longest.pool.id || longest.bytes.includes(other),
    );
    return isOne ? longest.pool : null;
  }
}

/**
 * Reads the shipped tags.
 *
 * @throws STORE_CORRUPT
 */
export function loadPoolTags(path: string = shippedData('pool-tags.json')): PoolTags {
  const file = JSON.parse(readFileSync(path, 'utf8')) as { readonly pools: readonly object[] };
  return new PoolTags(file.pools);
}
