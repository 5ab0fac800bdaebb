/**
 * The transition from one machine to a cluster: fills an empty Redis with the shared stores from the files of a standalone machine, which
 * are not changed; and reports an error at the start of a node that has such files and an empty Redis. docs/decisions/replicated-stores.md
 * has more.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FORMAT_VERSION as AUDIT_FORMAT } from '../accounts/audit.ts';
import { FORMAT_VERSION as KEYS_FORMAT } from '../accounts/keys-lmdb.ts';
import { type AccountsFile, openAccountsFile } from '../accounts/ledger-file.ts';
import { FORMAT_VERSION as PEOPLE_FORMAT } from '../accounts/people-lmdb.ts';
import { fillAccounts } from '../accounts/redis/fill.ts';
import { FORMAT_VERSION as REPORTS_FORMAT } from '../attribution/reports.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { luaScript } from '../base/paths.ts';
import type { Random } from '../base/random.ts';
import { FORMAT_VERSION as WATCH_FORMAT } from '../billing/crypto/watch-store.ts';
import { FORMAT_VERSION as PAYMENTS_FORMAT } from '../billing/payments.ts';
import { FORMAT_VERSION as INVOICES_FORMAT } from '../billing/store-lmdb.ts';
import { FORMAT_VERSION as AUTHORIZED_FORMAT } from '../billing/x402/store.ts';
import { FORMAT_VERSION as CASES_FORMAT } from '../cases/store-lmdb.ts';
import type { FillReport, FillRequest } from '../cli/services.ts';
import { FORMAT_VERSION as JOBS_FORMAT } from '../jobs/bulk/job-store.ts';
import { FORMAT_VERSION as MONITORING_FORMAT } from '../monitoring/store-lmdb.ts';
import { FORMAT_VERSION as CLEARED_FORMAT } from '../names/cleared.ts';
import { FORMAT_VERSION as LOG_FORMAT } from '../receipts/log/store-lmdb.ts';
import { FORMAT_VERSION as RECEIPTS_FORMAT } from '../receipts/store-lmdb.ts';
import { FORMAT_VERSION as SCREENINGS_FORMAT } from '../saved-screenings/store-lmdb.ts';
import { createRedisLeases } from '../state/leases-redis.ts';
import { type LiveFile, openLiveFile } from '../state/live-file.ts';
import type { RedisStore } from '../state/redis.ts';
import {
  markStores,
  nameInstallation,
  newInstallation,
  readInstallation,
} from '../state/redis-installation.ts';
import { FILLING } from '../state/replica/write-log.ts';
import { createStoreFilling, type StoreFilling } from '../state/replica-fill.ts';
import { replicaState } from '../state/replicated-store.ts';

/** A store that is replicated if a Redis is configured. */
export interface SharedStore {
  readonly name: string;
  readonly formatVersion: number;
  /** Its file on a standalone machine, inside the data folder. */
  readonly file: string;
}

/** The keys are last: without them no node can serve, so the filling ends when they are finished. */
export const SHARED_STORES: readonly SharedStore[] = [
  { name: 'people', formatVersion: PEOPLE_FORMAT, file: 'accounts/people.mdb' },
  { name: 'audit', formatVersion: AUDIT_FORMAT, file: 'accounts/audit.mdb' },
  { name: 'payments', formatVersion: PAYMENTS_FORMAT, file: 'accounts/payments.mdb' },
  { name: 'invoices', formatVersion: INVOICES_FORMAT, file: 'invoices.mdb' },
  { name: 'payment-watch', formatVersion: WATCH_FORMAT, file: 'payment-watch.mdb' },
  { name: 'authorized-payments', formatVersion: AUTHORIZED_FORMAT, file: 'authorized-payments.mdb' },
  { name: 'cleared', formatVersion: CLEARED_FORMAT, file: 'accounts/cleared-names.lmdb' },
  { name: 'label-reports', formatVersion: REPORTS_FORMAT, file: 'accounts/label-reports.mdb' },
  { name: 'monitoring', formatVersion: MONITORING_FORMAT, file: 'monitoring/monitoring.lmdb' },
  { name: 'cases', formatVersion: CASES_FORMAT, file: 'cases.mdb' },
  { name: 'screenings', formatVersion: SCREENINGS_FORMAT, file: 'screenings.mdb' },
  { name: 'log', formatVersion: LOG_FORMAT, file: 'log.mdb' },
  { name: 'receipts', formatVersion: RECEIPTS_FORMAT, file: 'receipts.mdb' },
  { name: 'jobs', formatVersion: JOBS_FORMAT, file: 'jobs.mdb' },
  { name: 'keys', formatVersion: KEYS_FORMAT, file: 'accounts/keys.mdb' },
];

/** The state of a filling in Redis, in addition to the heads of the stores. */
export interface FillMark {
  /** Id of the filling. */
  readonly id: string;
  /** Id of the source installation. */
  readonly source: string;
  readonly state: 'filling' | 'whole';
  /** ISO times. */
  readonly begun: string;
  readonly ended: string | null;
}

const SLOT = 'fill';
const ID_BYTES = 9;
/** Returns the names of all stores that nodes share. */
const storeNames = (): readonly string[] => SHARED_STORES.map(({ name }) => name);
/** Keys in Redis of an account that was ever counted or charged. */
const ACCOUNT_KEYS = ['log', 'state', 'events', 'dashboard:log', 'dashboard:events'] as const;

const markKey = (redis: RedisStore): string => redis.key(SLOT, 'mark');
async function readMark(redis: RedisStore): Promise<FillMark | null> {
  const text = await redis.guard(redis.connection.get(markKey(redis)));
  return text === null ? null : (JSON.parse(text) as FillMark);
}
/** Writes the state of a filling to Redis. */
export async function putMark(redis: RedisStore, mark: FillMark): Promise<void> {
  await redis.script('fill_mark', luaScript('app', 'lua', 'fill-mark'), { safe: true })(
    [markKey(redis)],
    [JSON.stringify(mark)],
  );
}
/** Returns the format version of a store in Redis; null if the store does not exist. */
export const formatOf = (redis: RedisStore, store: string): Promise<string | null> =>
  redis.guard(redis.connection.hget(redis.key(store, 'head'), 'format'));

/** Identifies the installation by its first key, which no other installation has; null if it has no keys, and therefore no accounts. */
function sourceOf(keys: LiveFile | null): string | null {
  type Row = { readonly id: string; readonly createdAt: string };
  let first: Row | null = null;
  for (const { value } of keys?.open<Row, string>({ name: 'keys', encoding: 'json' })?.getRange() ?? []) {
    const isEarlier = first === null || `${value.createdAt} ${value.id}` < `${first.createdAt} ${first.id}`;
    if (isEarlier) first = { id: value.id, createdAt: value.createdAt };
  }
  if (first === null) return null;
  return createHash('sha256').update(`${first.id} ${first.createdAt}`).digest('hex').slice(0, 32);
}

const BEING_FILLED =
  'Redis is being filled by `assay redis fill`, `assay redis restore` or `assay redis newer`, or that was interrupted. Run the same command again on that machine to complete it.';

/** Returns true if this folder has since been used by a node: its standalone files are then outdated. */
const wasOfNode = async (dataDir: string): Promise<boolean> =>
  (await replicaState(join(dataDir, 'accounts', 'keys.mdb'), KEYS_FORMAT, 'keys')) !== null;

/**
 * Checks that a node with a shared Redis may start.
 *
 * @throws NOT_READY while Redis is being filled, INVALID_CONFIG if Redis is empty and the folder has accounts of a standalone
 * machine: with a new first key they would seem to be lost
 */
export async function requireFilled(
  { dataDir }: { readonly dataDir: string },
  { redis, log }: { readonly redis: RedisStore; readonly log: Logger },
): Promise<void> {
  const [format, mark] = [await formatOf(redis, 'keys'), await readMark(redis)];
  // The filling has also started if no store is claimed yet; the keys are the last store to be finished.
  if (format === FILLING || (format === null && mark?.state === 'filling'))
    throw new AssayError('NOT_READY', BEING_FILLED);
  const path = join(dataDir, 'accounts', 'keys.mdb');
  // A node that has run before was checked then. If Redis is empty now, its data was lost, which the replica reports.
  if (!existsSync(path) || (await wasOfNode(dataDir))) return;
  const keys = openLiveFile({ path, formatVersion: KEYS_FORMAT });
  let source: string | null;
  try {
    source = sourceOf(keys);
  } finally {
    await keys?.close();
  }
  if (source === null) return;
  if (format === null)
    throw new AssayError(
      'INVALID_CONFIG',
      `The Redis of ASSAY_REDIS_URL has no accounts, but ${path} has those of a standalone machine. Copy them with \`assay redis fill\`, or move that file elsewhere to start without them.`,
      { field: 'ASSAY_REDIS_URL' },
    );
  if (mark?.source !== source)
    log.warn(
      { file: path },
      'This folder has accounts of a standalone machine. They differ from those of the Redis, and no node reads them.',
    );
}

interface Sources {
  readonly stores: readonly { readonly store: SharedStore; readonly file: LiveFile }[];
  readonly accounts: AccountsFile;
  readonly files: readonly LiveFile[];
}

/** Opens the files of a standalone machine. Throws STORE_VERSION, STORE_CORRUPT. */
async function openSources(dataDir: string): Promise<Sources> {
  const stores: Sources['stores'][number][] = [];
  try {
    for (const store of SHARED_STORES) {
      const file = openLiveFile({ ...store, path: join(dataDir, store.file) });
      if (file !== null) stores.push({ store, file });
    }
    const accounts = openAccountsFile({ folder: join(dataDir, 'accounts') });
    return { stores, accounts, files: [...stores.map(({ file }) => file), ...accounts.files] };
  } catch (error) {
    for (const { file } of stores) await file.close();
    throw error;
  }
}

/**
 * Checks that no other process uses the files.
 *
 * @throws STORE_BUSY if one does
 */
export function requireUnused(files: readonly LiveFile[]): void {
  for (const file of files) {
    const [pid] = file.otherProcesses();
    if (pid !== undefined)
      throw new AssayError(
        'STORE_BUSY',
        `Process ${pid} uses ${file.path}. Stop the server of this folder, and every other command that uses it.`,
      );
  }
}

const holds = (what: string): AssayError =>
  new AssayError(
    'INVALID_REQUEST',
    `Redis already contains an installation (${what}). Only an empty Redis can be filled: use another Redis, or another ?prefix= in ASSAY_REDIS_URL.`,
    { field: 'ASSAY_REDIS_URL' },
  );

/**
 * Checks that Redis is empty.
 *
 * @throws INVALID_REQUEST if Redis holds an installation, a store or an account
 */
export async function requireEmpty(redis: RedisStore): Promise<void> {
  const found = await readInstallation(redis);
  if (found !== null) throw holds(`${found.id}, founded ${found.foundedAt}`);
  for (const { name } of SHARED_STORES)
    if ((await formatOf(redis, name)) !== null) throw holds(`the store '${name}'`);
  for (const name of ACCOUNT_KEYS)
    for await (const accountId of redis.slotsWith(name)) throw holds(`the account '${accountId}'`);
}

export interface FillDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Fills an empty Redis, or resumes its own interrupted filling. After any error, no node takes the partial data for a complete store.
 *
 * @throws NOT_FOUND if the folder has no accounts, STORE_BUSY if a process uses the folder or another process fills Redis, INVALID_REQUEST
 * if Redis holds an installation, STORE_VERSION, STORE_CORRUPT, NOT_READY
 */
export async function fillRedis(
  { dataDir, signal, onProgress }: FillRequest & { readonly dataDir: string },
  deps: FillDeps,
): Promise<FillReport> {
  const sources = await openSources(dataDir);
  try {
    const keys = sources.stores.find(({ store }) => store.name === 'keys')?.file ?? null;
    const source = sourceOf(keys);
    if (source === null)
      throw new AssayError('NOT_FOUND', `${dataDir} has no accounts of a standalone machine.`);
    if (await wasOfNode(dataDir))
      throw new AssayError(
        'INVALID_REQUEST',
        `${dataDir} has been used by a node with a Redis since, and its files are older: restore that Redis from its backup, or with \`assay redis restore --from-replica\`. To use the old state anyway, move ${join(dataDir, 'accounts', 'replicas')} elsewhere.`,
        { field: 'ASSAY_DATA_DIR' },
      );
    requireUnused(sources.files);
    // Checked before the lease, which writes: a Redis that is rejected must not be changed.
    await begunBefore(deps.redis, source);
    return await asOnlyWriter({ source, signal }, deps, (mark, both) =>
      fillUnderLease(sources, mark, { signal: both, onProgress }, deps),
    );
  } finally {
    for (const file of sources.files) await file.close();
  }
}

/**
 * Runs `work` as the only process that fills this Redis, with the mark for a new filling.
 *
 * @throws STORE_BUSY if another process does, NOT_READY if Redis rejects writes, the error of `work`
 */
export async function asOnlyWriter<T>(
  { source, signal }: { readonly source: string; readonly signal: AbortSignal },
  deps: FillDeps,
  work: (mark: FillMark, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { random, clock } = deps;
  const nodeId = `fill-${Buffer.from(random.bytes(ID_BYTES)).toString('hex')}`;
  try {
    const lease = await createRedisLeases({ nodeId }, deps).take(SLOT, 'writer');
    if (lease === null)
      throw new AssayError(
        'STORE_BUSY',
        'Redis is being filled by another process, or by one that ended a few seconds ago. Wait until it has ended.',
      );
    try {
      const begun = isoTime(clock.now());
      const mark: FillMark = { id: `${nodeId}-1`, source, state: 'filling', begun, ended: null };
      return await work(mark, AbortSignal.any([signal, lease.lost]));
    } finally {
      await lease.release();
    }
  } catch (error) {
    if (error instanceof AssayError || (error instanceof Error && error.name !== 'ReplyError')) throw error;
    throw new AssayError('NOT_READY', `Redis cannot be filled: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Checks that the files have not changed since `asOf`.
 *
 * @param asOf - the last transaction of each file
 * @throws STORE_BUSY if a process uses a file or has written to it
 */
export function requireUnchanged(files: readonly LiveFile[], asOf: readonly number[]): void {
  requireUnused(files);
  for (const [at, file] of files.entries())
    if (file.lastTransaction() !== asOf[at])
      throw new AssayError(
        'STORE_BUSY',
        `${file.path} was changed meanwhile. Stop every process that uses this folder, and fill Redis again.`,
      );
}

/**
 * Returns the unfinished filling from this source; null if Redis is empty.
 *
 * @throws INVALID_REQUEST if Redis holds an installation, or an unfinished filling from another source
 */
export async function begunBefore(redis: RedisStore, source: string): Promise<FillMark | null> {
  const found = await readMark(redis);
  if (found === null) {
    await requireEmpty(redis);
    return null;
  }
  const ofWhom = found.source === source ? 'this folder' : 'another folder';
  // A filling may have finished without recording that; nodes may have written since.
  if (found.state === 'whole' || (await formatOf(redis, 'keys')) === String(KEYS_FORMAT))
    throw holds(`filled from ${ofWhom} on ${found.begun}`);
  if (found.source !== source) throw holds(`an incomplete fill from ${ofWhom}, begun ${found.begun}`);
  return found;
}

async function fillUnderLease(
  { stores, accounts, files }: Sources,
  fresh: FillMark,
  { signal, onProgress }: FillRequest,
  { redis, clock, random }: FillDeps,
): Promise<FillReport> {
  const asOf = files.map((file) => file.lastTransaction());
  // Verified before anything is written: an invalid ledger is not transferred.
  const sums = await accounts.sums((done) => onProgress('ledger', done, accounts.last, 'entries'));
  signal.throwIfAborted();
  const begun = await begunBefore(redis, fresh.source);
  const mark = begun ?? fresh;
  if (begun === null) await putMark(redis, mark);
  // A resumed filling finds its name in Redis; otherwise it is created.
  const installation = await nameInstallation(
    redis,
    newInstallation((count) => random.bytes(count), mark.begun),
  );
  const fillings: readonly StoreFilling[] = stores.map(({ store, file }) =>
    createStoreFilling({ ...store, file, id: mark.id, installation: installation.id, signal }, { redis }),
  );
  for (const filling of fillings) await filling.claim();
  await markStores(redis, installation, storeNames());

  const jobs = stores.find(({ store }) => store.name === 'jobs')?.file ?? null;
  type Job = { readonly accountId: string };
  const jobRows = jobs?.open<Job, string>({ name: 'jobs', encoding: 'json' }) ?? null;
  const filled = await fillAccounts(
    {
      file: accounts,
      sums,
      // A deleted job is never settled again.
      accountOf: (event) => jobRows?.get(event.replace(/^job:/, ''))?.accountId ?? null,
      signal,
      onProgress: (stage, done, total) => onProgress(`accounts: ${stage}`, done, total, 'entries'),
    },
    { redis, clock },
  );
  for (const filling of fillings)
    await filling.fill((done, total) => onProgress(filling.name, done, total, 'records'));

  requireUnchanged(files, asOf);
  signal.throwIfAborted();
  for (const filling of fillings) await filling.finish();
  const whole: FillMark = { ...mark, state: 'whole', ended: isoTime(clock.now()) };
  await putMark(redis, whole);
  return {
    resumed: begun !== null,
    begun: mark.begun,
    ended: whole.ended as string,
    stores: SHARED_STORES.map(({ name }) => ({
      name,
      records: fillings.find((filling) => filling.name === name)?.records ?? 0,
    })),
    ledger: filled,
  };
}
