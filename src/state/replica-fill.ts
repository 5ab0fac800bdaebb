/**
 * Fills a replicated store in Redis with the file of a standalone machine, or with the replica of a node. Until the filling ends, the head
 * of the store says so, and no node reads or writes it. A filling may be started again at any point: existing data is compared and kept.
 */
import { AssayError } from '../base/errors.ts';
import { luaScript } from '../base/paths.ts';
import { STATE_LIMITS } from './limits.ts';
import type { LiveFile } from './live-file.ts';
import type { RedisStore } from './redis.ts';
import { REPLICA_LIMITS } from './replica/limits.ts';
import { isOwnDatabase, isOwnRecord } from './replica/replica-file.ts';
import { fieldOf, partsOfField } from './write-set.ts';

export interface StoreFilling {
  readonly name: string;
  /** Number of records in the file, and in Redis after the filling. */
  readonly records: number;
  /** Claims the store. Rejects with INVALID_REQUEST if Redis has a store that is not a filling with this id. */
  claim(): Promise<void>;
  /** Writes missing records, and reads everything back. Rejects with STORE_CORRUPT if Redis then holds other data. */
  fill(onProgress: (done: number, total: number) => void): Promise<void>;
  /** Makes the store available to the nodes. */
  finish(): Promise<void>;
}

export interface StoreFillingOptions {
  /** Name of the store, as its owner opens it. */
  readonly name: string;
  readonly formatVersion: number;
  readonly file: LiveFile;
  /** Id of this filling; a resumed filling has the same id. */
  readonly id: string;
  /** Id of the installation that owns the store. */
  readonly installation: string;
  /**
   * The position of a replica that is restored: a finished store stays as it is, because nodes have continued from it. If omitted, the file
   * is that of a standalone machine and becomes the first write set.
   */
  readonly at?: { readonly version: number; readonly last: string };
  /** True if the filling replaces the store that Redis has. Needs `at`. */
  readonly isReplacing?: boolean;
  /** Checked between two pages. */
  readonly signal: AbortSignal;
}

/** Prepares the filling of one store; Redis is not changed before `claim`. */
export function createStoreFilling(
  { name, formatVersion, file, id, installation, at, isReplacing = false, signal }: StoreFillingOptions,
  { redis }: { readonly redis: RedisStore },
): StoreFilling {
  const [headKey, dataKey] = [redis.key(name, 'head'), redis.key(name, 'data')];
  const claim = redis.script('fill_claim', luaScript('state', 'lua', 'fill-claim'), { safe: true });
  const replace = redis.script('fill_replace', luaScript('state', 'lua', 'fill-replace'), { safe: true });
  const put = redis.script('fill_put', luaScript('state', 'lua', 'fill-put'), { safe: true });
  const remove = redis.script('fill_remove', luaScript('state', 'lua', 'fill-remove'), { safe: true });
  const finish = redis.script('fill_finish', luaScript('state', 'lua', 'fill-finish'), { safe: true });
  const copyPage = redis.script('replica_copy', luaScript('state', 'lua', 'replica-copy'), { binary: true });

  const databases = file.databases.filter((database) => !isOwnDatabase(database));
  let isWhole = false;

  function* records(): Iterable<readonly [field: Buffer, value: Buffer]> {
    for (const database of databases)
      for (const [key, value] of file.records(database))
        if (!isOwnRecord(database, key)) yield [fieldOf(database, key), value];
  }
  const hasMeta = databases.includes('meta');
  const total = databases.reduce((sum, database) => sum + file.count(database), hasMeta ? -1 : 0);

  const taken = (): AssayError =>
    new AssayError('STORE_BUSY', `Another filling of Redis has claimed the store '${name}'.`);

  async function writeAll(onProgress: (done: number) => void): Promise<void> {
    let page: Buffer[] = [];
    let bytes = 0;
    let done = 0;
    const flush = async (): Promise<void> => {
      signal.throwIfAborted();
      if (page.length > 0 && (await put([headKey, dataKey], [id, ...page])) !== 1) throw taken();
      done += page.length / 2;
      onProgress(done);
      [page, bytes] = [[], 0];
    };
    for (const [field, value] of records()) {
      page.push(field, value);
      bytes += field.length + value.length;
      if (page.length >= 2 * STATE_LIMITS.fillPageRecords || bytes >= STATE_LIMITS.fillPageBytes)
        await flush();
    }
    await flush();
  }

  /** Returns true if the file has exactly this record, false if its value differs, null if the file has no record with that key. */
  function isSame(field: Buffer, value: Buffer): boolean | null {
    const { database, key } = partsOfField(field);
    if (!databases.includes(database) || isOwnRecord(database, key)) return null;
    return file.record(database, key)?.equals(value) ?? null;
  }

  /** Returns true if Redis holds the data of the file. Removes records that the file no longer has since an earlier filling. */
  async function holdsAll(onProgress: (done: number) => void): Promise<boolean> {
    let cursor = '0';
    let server: string | null = null;
    let done = 0;
    do {
      signal.throwIfAborted();
      const reply = await copyPage([dataKey], [cursor, REPLICA_LIMITS.replicaCopyPage]);
      const [from, next, page] = reply as [Buffer, Buffer, readonly Buffer[]];
      // Cursors are not valid on the server that replaced the first one.
      if (server !== null && server !== from.toString()) return holdsAll(onProgress);
      server = from.toString();
      cursor = next.toString();
      const gone: Buffer[] = [];
      for (let at = 0; at + 1 < page.length; at += 2) {
        const field = page[at] as Buffer;
        const same = isSame(field, page[at + 1] as Buffer);
        if (same === false) return false;
        if (same === null) gone.push(field);
      }
      if (gone.length > 0 && (await remove([headKey, dataKey], [id, ...gone])) !== 1) throw taken();
      done += page.length / 2;
      onProgress(Math.min(done, total));
    } while (cursor !== '0');
    return (await redis.guard(redis.connection.hlen(dataKey))) === total;
  }

  return {
    name,
    records: total,
    async claim() {
      const reply = isReplacing
        ? replace([headKey, redis.key(name, 'stream')], [id, installation])
        : claim([headKey], [id, installation, at === undefined ? '' : 'keep']);
      const format = String(await reply);
      isWhole = format === 'whole';
      if (format !== '' && !isWhole)
        throw new AssayError('INVALID_REQUEST', `Redis already has a store '${name}' (format ${format}).`, {
          field: 'ASSAY_REDIS_URL',
        });
    },
    async fill(onProgress) {
      if (isWhole) return;
      const report = (done: number): void => onProgress(done, total);
      const has = await redis.guard(redis.connection.hlen(dataKey));
      if (has === total && (await holdsAll(report))) return;
      await writeAll(report);
      if (!(await holdsAll(report)))
        throw new AssayError(
          'STORE_CORRUPT',
          `The data in Redis differs from ${file.path}. Run the filling again.`,
        );
    },
    async finish() {
      const { version, last } = at ?? { version: 1, last: id };
      if ((await finish([headKey], [id, formatVersion, version, last])) !== 1) throw taken();
    },
  };
}
