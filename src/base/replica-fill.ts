/**
 * The filling of a replicated store in Redis with what a machine that was alone has in its file, or a node in its replica. Until it ends, the head of the store
 * says so, and no node reads or writes it. It may be begun again at any point: what is there already is looked at and left.
 */
import { AssayError } from './errors.ts';
import { LIMITS } from './limits.ts';
import type { LiveFile } from './live-file.ts';
import type { RedisStore } from './redis.ts';
import { COPY_PAGE, FILLING } from './replica-scripts.ts';
import { isOwnDatabase, isOwnRecord } from './replicated-store.ts';
import { fieldOf, partsOfField } from './write-set.ts';

/**
 * KEYS head; ARGV id of the filling, id of the installation, `keep` or nothing. Replies with an empty text; with `whole` if this filling has
 * finished the store before and is to keep it; or with the format of a store that is another's.
 */
const CLAIM = `
local found = redis.call('HMGET', KEYS[1], 'format', 'filling', 'last')
-- A filling that an earlier version began is named by 'last'.
if found[1] and (found[2] or found[3]) ~= ARGV[1] then return found[1] end
if found[1] and found[1] ~= '${FILLING}' and ARGV[3] == 'keep' then return 'whole' end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'format', '${FILLING}', 'filling', ARGV[1], 'installation', ARGV[2])
return ''`;

/** KEYS head, data; ARGV id of the filling, then fields and values by turns, or fields alone to remove them. Replies with 1 where it was let. */
const mine = `
local found = redis.call('HMGET', KEYS[1], 'format', 'filling')
if found[1] ~= '${FILLING}' or found[2] ~= ARGV[1] then return 0 end`;
const PUT = `${mine}
for at = 2, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1]) end
return 1`;
const REMOVE = `${mine}
for at = 2, #ARGV do redis.call('HDEL', KEYS[2], ARGV[at]) end
return 1`;

/** KEYS head; ARGV id of the filling, format, and the place in the history that was filled: version, id of the last write set. */
const FINISH = `
local found = redis.call('HMGET', KEYS[1], 'format', 'filling')
if found[2] ~= ARGV[1] then return 0 end
if found[1] == '${FILLING}' then
  redis.call('HSET', KEYS[1], 'format', ARGV[2], 'version', ARGV[3], 'last', ARGV[4], 'bytes', '0')
end
return 1`;

export interface StoreFilling {
  readonly name: string;
  /** Records that the file has, and Redis is to have. */
  readonly records: number;
  /** Takes the store. Rejects with INVALID_REQUEST where Redis has one that is no filling of this id. */
  claim(): Promise<void>;
  /** Writes what is missing, and reads everything back. Rejects with STORE_CORRUPT where Redis then holds something else. */
  fill(onProgress: (done: number, total: number) => void): Promise<void>;
  /** Lets the nodes have it. */
  finish(): Promise<void>;
}

export interface StoreFillingOptions {
  /** Of the store, as its owner opens it. */
  readonly name: string;
  readonly formatVersion: number;
  readonly file: LiveFile;
  /** Names this filling; taken up again, it is the same one. */
  readonly id: string;
  /** Id of the installation that the store belongs to. */
  readonly installation: string;
  /**
   * The place in the history of a replica that is put back: what was finished stays, since nodes go on from there. Left out: the file of
   * a machine that was alone, which becomes the first write set.
   */
  readonly at?: { readonly version: number; readonly last: string };
  /** Aborted between two pages. */
  readonly signal: AbortSignal;
}

export function createStoreFilling(
  { name, formatVersion, file, id, installation, at, signal }: StoreFillingOptions,
  { redis }: { readonly redis: RedisStore },
): StoreFilling {
  const [headKey, dataKey] = [redis.key(name, 'head'), redis.key(name, 'data')];
  const claim = redis.script('fill_claim', CLAIM, { safe: true });
  const put = redis.script('fill_put', PUT, { safe: true });
  const remove = redis.script('fill_remove', REMOVE, { safe: true });
  const finish = redis.script('fill_finish', FINISH, { safe: true });
  const copyPage = redis.script('replica_copy', COPY_PAGE, { binary: true });

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
    new AssayError('STORE_BUSY', `Another filling of Redis has taken the store '${name}'.`);

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
      if (page.length >= 2 * LIMITS.fillPageRecords || bytes >= LIMITS.fillPageBytes) await flush();
    }
    await flush();
  }

  /** Whether the file has this very record; null where it has none of that key. */
  function isSame(field: Buffer, value: Buffer): boolean | null {
    const { database, key } = partsOfField(field);
    if (!databases.includes(database) || isOwnRecord(database, key)) return null;
    return file.record(database, key)?.equals(value) ?? null;
  }

  /** Whether Redis holds what the file has. What the file has no more, since it was filled before, is removed. */
  async function holdsAll(onProgress: (done: number) => void): Promise<boolean> {
    let cursor = '0';
    let server: string | null = null;
    let done = 0;
    do {
      signal.throwIfAborted();
      const reply = await copyPage([dataKey], [cursor, LIMITS.replicaCopyPage]);
      const [from, next, page] = reply as [Buffer, Buffer, readonly Buffer[]];
      // Its cursors mean nothing to the server that took its place.
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
      const format = String(await claim([headKey], [id, installation, at === undefined ? '' : 'keep']));
      isWhole = format === 'whole';
      if (format !== '' && !isWhole)
        throw new AssayError('INVALID_REQUEST', `Redis has a store '${name}' already (format ${format}).`);
    },
    async fill(onProgress) {
      if (isWhole) return;
      const report = (done: number): void => onProgress(done, total);
      const has = await redis.guard(redis.connection.hlen(dataKey));
      if (has === total && (await holdsAll(report))) return;
      await writeAll(report);
      if (!(await holdsAll(report)))
        throw new AssayError('STORE_CORRUPT', `Redis does not hold what ${file.path} has. Fill it again.`);
    },
    async finish() {
      const { version, last } = at ?? { version: 1, last: id };
      if ((await finish([headKey], [id, formatVersion, version, last])) !== 1) throw taken();
    },
  };
}
