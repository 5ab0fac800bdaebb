/**
 * The move from one machine to several nodes, over real stores and a real Redis. The nodes read, byte for byte, what the machine had in
 * files, and whatever interrupts the move, no node takes a part of the data for the whole.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Access, createAccess } from '../../src/accounts/access.ts';
import { answerSlot, hashBody } from '../../src/accounts/idempotency.ts';
import { balanceId } from '../../src/accounts/pools.ts';
import { fillRedis, requireFilled, SHARED_STORES } from '../../src/app/redis-fill.ts';
import { openReportStore } from '../../src/attribution/reports.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { systemRandom } from '../../src/base/random.ts';
import { WatchStore } from '../../src/billing/crypto/watch-store.ts';
import { type AuthorizedPayment, queued } from '../../src/billing/x402/records.ts';
import { AuthorizedPayments } from '../../src/billing/x402/store.ts';
import { createCases } from '../../src/cases/cases.ts';
import { openCaseStore } from '../../src/cases/store-lmdb.ts';
import type { FillReport } from '../../src/cli/services.ts';
import { openJobStore } from '../../src/jobs/bulk/job-store.ts';
import { openMonitoringStore } from '../../src/monitoring/store-lmdb.ts';
import { openClearedStore } from '../../src/names/cleared.ts';
import { type OpenStore, openLiveStore } from '../../src/state/live-store.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import { readInstallation } from '../../src/state/redis-installation.ts';
import { openReplicated } from '../../src/state/replicated-store.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { openedBilling } from '../billing/opened.ts';
import { entriesOf, openLog } from '../receipts/log/world.ts';
import { storeAt } from '../receipts/world.ts';
import { openedSaved } from '../saved-screenings/opened.ts';
import { hasRedis, type RedisServer, startRedis, startRedisCluster } from '../setup/redis.ts';
import { execFileSync } from '../support/child-process.ts';

/** A payment of an invoice that waits to be sent. */
const AUTHORIZED: AuthorizedPayment = {
  ...{ kind: 'invoice', key: 'BASE 0xa 0xb 0xc', chain: 'BASE', asset: '0xa', createdAtMs: 1, part: 1 },
  ...{ accountId: 'acc0', invoiceId: 'inv_1', transfer: queued(1) },
  authorization: {
    ...{
      from: '0xb',
      to: '0xd',
      value: '1',
      validAfter: '0',
      validBefore: '9',
      nonce: '0xc',
      signature: '0x',
    },
  },
};

const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
const ENCRYPTION = { encrypt: (secret: string) => secret, decrypt: (text: string) => text };
const LONG = process.env.ASSAY_TEST_LONG === '1';
/** Accounts, and charges of each account: more than one page of entries. */
const ACCOUNTS = 5;
const CHARGES = 1_100;
const STRIPE = 'whsec_of_a_test';
const SLOT = answerSlot('acc0', 'POST', '/kyt', 'again');
const BODY = Buffer.from('{"asked":1}');

const accessOf = (folder: string, more: { redis?: RedisStore; openStore?: OpenStore } = {}): Access =>
  createAccess({ folder: join(folder, 'accounts') }, { ...deps, freeCredits: () => 7, ...more });

async function charge(access: Access, accountId: string, reference: string, keep = false) {
  const ledger = access.ledger();
  return ledger.commit(await ledger.reserve(accountId, 1), {
    type: 'SCREENING',
    amount: 1,
    reference,
    ...(keep ? { keep: { slot: SLOT, bodyHash: hashBody(BODY) } } : {}),
    answer: (remaining) => Buffer.from(`${reference} leaves ${remaining}`),
  });
}

interface Lone {
  readonly apiKey: string;
  readonly firstCharge: string;
  /** The answers of the standalone machine. */
  readonly asked: Awaited<ReturnType<typeof askAll>>;
}

const page = async (access: Access, accountId: string, cursor?: string) =>
  access.ledger().usage(accountId, { limit: 40, ...(cursor === undefined ? {} : { cursor }) });

/** Reads everything that an owner of accounts could look at. */
async function askAll(access: Access) {
  const accounts = Array.from({ length: ACCOUNTS }, (_, n) => `acc${n}`);
  return Promise.all(
    accounts.map(async (accountId) => {
      const first = await page(access, accountId);
      return {
        first,
        second: await page(access, accountId, first.nextCursor ?? undefined),
        balance: await access.ledger().balance(accountId),
        dashboard: await page(access, balanceId(accountId, 'dashboard')),
        intel: await access.quota.used(accountId, 'intel'),
        oracle: await access.quota.used(accountId, 'oracle'),
        keys: access.keys.list().filter((key) => key.accountId === accountId),
      };
    }),
  );
}

/** Creates a standalone machine with some data in every store. */
async function makeLone(folder: string): Promise<Lone> {
  const access = accessOf(folder);
  const made = await access.keys.create({ name: 'first', accountId: 'acc0', plan: 'ENTERPRISE' });
  for (let n = 1; n < ACCOUNTS; n++) await access.keys.create({ name: `key ${n}`, accountId: `acc${n}` });
  const ledger = access.ledger();
  for (let n = 0; n < ACCOUNTS; n++) {
    const accountId = `acc${n}`;
    await ledger.book({ accountId, type: 'GRANT', amount: 2_000, reference: 'grüße', once: `grant:${n}` });
    await access.quota.take(accountId, 'oracle', 3 + n);
  }
  const first = await charge(access, 'acc0', 'first');
  const charges = Array.from({ length: CHARGES }, (_, n) =>
    Array.from({ length: ACCOUNTS }, (_, a) => charge(access, `acc${a}`, `charge ${n}`)),
  );
  await Promise.all(charges.flat());
  await ledger.refund('acc1', (await charge(access, 'acc1', 'taken back')).entry?.id as string);
  await ledger.settle({ accountId: 'acc2', type: 'DEDUCTION', once: 'job:of2', total: 20, reference: 'job' });
  await charge(access, 'acc0', 'kept', true);
  const dashboard = balanceId('acc1', 'dashboard');
  await ledger.book({ accountId: dashboard, type: 'PURCHASE', amount: 100, reference: null, once: 'bought' });
  await ledger.refund(dashboard, (await charge(access, dashboard, 'taken back')).entry?.id as string);
  await ledger.settle({
    accountId: dashboard,
    type: 'DEDUCTION',
    once: 'job:of1',
    total: 7,
    reference: 'job',
  });
  await access.audit().write({
    ...{ action: 'plan.set', accountId: 'acc0', subject: null, detail: null, who: 'operator', from: 'test' },
  });
  access.people();
  const billing = openedBilling(folder, access, { stripeSecret: STRIPE });
  billing.open();
  await billing.close();
  const payments = new WatchStore(join(folder, 'payment-watch.mdb'));
  await payments.add(
    { target: `0x${'a1'.repeat(20)}`, chain: 'ETH', accountId: 'acc0', invoiceId: 'inv_1', untilMs: 0 },
    { height: 1, hash: `0x${'b1'.repeat(32)}` },
  );
  await payments.close();
  const authorized = new AuthorizedPayments(join(folder, 'authorized-payments.mdb'));
  await authorized.change('BASE 0xa 0xb 0xc', () => AUTHORIZED);
  await authorized.close();
  const jobs = openJobStore({ path: join(folder, 'jobs.mdb') }, {});
  await jobs.transaction((writer) => writer.add({ id: 'of3', accountId: 'acc3', endedAt: null } as never));
  await jobs.close();
  await access.quota.settle('acc3', 'intel', 'job:of3', 50);
  await access.quota.settle('acc3', 'intel', 'job:forgotten', 5);
  const cleared = openClearedStore({ path: join(folder, 'accounts', 'cleared-names.lmdb') }, deps);
  await cleared.clear('acc0', {
    ...{ name: 'A', list: 'OFAC_SDN', entityId: '1', entityName: 'A', entityVersion: 'v', note: null },
  });
  await cleared.close();
  const reports = openReportStore({ path: join(folder, 'accounts', 'label-reports.mdb') }, deps);
  await reports.file({
    ...{
      accountId: 'acc0',
      chain: 'ETH',
      address: `0x${'1'.repeat(40)}`,
      source: null,
      reason: 'not theirs',
    },
  });
  await reports.close();
  const cases = openCaseStore({ path: join(folder, 'cases.mdb') }, deps);
  const records = { alert: () => null, wallet: () => null, screening: () => null };
  await createCases({ fourEyes: false }, { ...deps, store: cases, records }).create(
    { accountId: 'acc0', savedKinds: [], who: 'key_1', identity: 'key_1' },
    { title: 'A case' },
    null,
  );
  await cases.close();
  const { store: saved, saved: screenings } = openedSaved(folder, () => ledger);
  await screenings.save(
    { accountId: 'acc0', who: 'key_1' },
    {
      kind: 'SCREENING',
      request: {},
      data: Buffer.from(`{"address":"0x${'1'.repeat(40)}","chain":"ETH","riskLevel":"LOW"}`),
    },
    { type: 'SCREENING', amount: 1, reference: null, keep: null, ignored: null },
    () => {},
  );
  await saved.close();
  const log = await openLog(folder, { checkpointMs: 0 });
  await log.log.append(entriesOf(0, 300));
  await log.close();
  const receipts = storeAt(join(folder, 'receipts.mdb'), { now: Date.now });
  await receipts.keys.active();
  await receipts.close();
  const monitoring = openMonitoringStore(
    { path: join(folder, 'monitoring', 'monitoring.lmdb') },
    { ...deps, encryption: ENCRYPTION },
  );
  await monitoring.close();
  const asked = await askAll(access);
  await access.close();
  return {
    apiKey: made.apiKey,
    firstCharge: first.entry?.id as string,
    asked,
  };
}

let worlds = 0;

/** Connects to a Redis under a prefix of its own, so that tests do not share data. */
function redisAt(url: string, prefix = `fill${worlds++}`): RedisStore {
  return openRedis(parseRedisUrl(`${url}?prefix=${prefix}`), { log: silentLogger });
}

const fill = (
  dataDir: string,
  redis: RedisStore,
  { signal = new AbortController().signal, onProgress = () => {} }: Partial<FillOptions> = {},
): Promise<FillReport> => fillRedis({ dataDir, signal, onProgress }, { ...deps, redis });
type FillOptions = Parameters<typeof fillRedis>[0];

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: { code?: unknown; name: string }) => (typeof error.code === 'string' ? error.code : error.name),
  );

/** Runs `look` on a node over Redis. The node has a folder of its own unless one is passed. */
async function withNode<T>(
  redis: RedisStore,
  look: (access: Access) => Promise<T>,
  path?: string,
): Promise<T> {
  const folder = tempFolder();
  const opened: { ready(): Promise<void> }[] = [];
  const installation = await readInstallation(redis);
  const open = openReplicated({ ...deps, redis, ...(installation === null ? {} : { installation }) });
  const openStore: OpenStore = (...store) => {
    const live = open(...store);
    opened.push(live);
    return live;
  };
  const access = accessOf(path ?? folder.path, { redis, openStore });
  const billing = openedBilling(path ?? folder.path, access, { stripeSecret: STRIPE, openStore });
  try {
    access.audit();
    access.people();
    billing.open();
    for (const store of opened) await store.ready();
    return await look(access);
  } finally {
    await billing.close();
    await access.close();
    folder.remove();
  }
}

describe.runIf(hasRedis)('a Redis that is filled', () => {
  let server: RedisServer;
  let folder: TempFolder;
  let lone: Lone;
  let redis: RedisStore;
  beforeAll(async () => {
    server = await startRedis();
    folder = tempFolder();
    lone = await makeLone(folder.path);
  });
  afterAll(async () => {
    folder.remove();
    await server.stop();
  });
  beforeEach(() => {
    redis = redisAt(server.url);
  });
  afterEach(() => redis.close());

  const files = (): string[] =>
    [...SHARED_STORES.map(({ file }) => file), 'accounts/ledger.mdb', 'accounts/quotas.mdb'].map((file) =>
      readFileSync(join(folder.path, file)).toString('latin1'),
    );

  it('answers every account as the single machine did, and leaves the files unchanged', async () => {
    const before = files();
    const report = await fill(folder.path, redis);
    expect(files()).toEqual(before);
    expect(report).toMatchObject({
      resumed: false,
      ledger: {
        accounts: ACCOUNTS,
        balance: lone.asked.reduce((sum, asked) => sum + asked.balance.balance + asked.dashboard.balance, 0),
        quotas: ACCOUNTS,
        quotaEvents: 1,
        answers: 1,
        answersLeft: 0,
      },
    });
    expect(report.stores.map(({ name }) => name)).toEqual(SHARED_STORES.map(({ name }) => name));
    for (const store of ['cleared', 'label-reports', 'cases', 'screenings', 'log', 'receipts'])
      expect(report.stores.find(({ name }) => name === store)?.records, store).toBeGreaterThan(0);
    await withNode(redis, async (access) => {
      expect(await askAll(access)).toEqual(lone.asked);
      expect(access.verify(lone.apiKey)?.accountId).toBe('acc0');
      expect(await access.audit().verify()).toMatchObject({ entries: 1, faults: [] });
      expect(await access.ledger().verify()).toMatchObject({
        entries: report.ledger.entries,
        accounts: ACCOUNTS,
        balance: report.ledger.balance,
        faults: [],
      });
    });
  });

  it('continues ids, names of bookings, refunds, jobs and stored answers', async () => {
    await fill(folder.path, redis);
    await withNode(redis, async (access) => {
      const ledger = access.ledger();
      const balanceOf = async (accountId: string) => (await ledger.balance(accountId)).balance;
      const before = await balanceOf('acc0');
      expect(
        await ledger.book({
          accountId: 'acc0',
          type: 'GRANT',
          amount: 2_000,
          reference: '',
          once: 'grant:0',
        }),
      ).toMatchObject({ repeated: true });
      expect((await charge(access, 'acc0', 'again', true)).replayed).toBe(true);
      expect(await balanceOf('acc0')).toBe(before);
      expect((await ledger.refund('acc0', lone.firstCharge)).amount).toBe(1);
      expect((await ledger.refund('acc0', lone.firstCharge)).amount).toBe(1);
      expect(await balanceOf('acc0')).toBe(before + 1);
      // The id of a charge of one account is not valid for another account.
      expect(await codeOf(ledger.refund('acc1', lone.firstCharge))).toBe('NOT_FOUND');
      const ofTwo = await balanceOf('acc2');
      await ledger.settle({
        accountId: 'acc2',
        type: 'DEDUCTION',
        once: 'job:of2',
        total: 15,
        reference: '',
      });
      expect(await balanceOf('acc2')).toBe(ofTwo + 5);
      const ofThree = await access.quota.used('acc3', 'intel');
      await access.quota.settle('acc3', 'intel', 'job:of3', 40);
      expect(await access.quota.used('acc3', 'intel')).toBe(ofThree - 10);
      expect(await ledger.verify()).toMatchObject({ faults: [] });
    });
  });

  it('continues after an interruption at any step, and no node starts before it is complete', async () => {
    const stages: string[] = [];
    const counting = redisAt(server.url);
    await fill(folder.path, counting, { onProgress: (stage) => void stages.push(stage) });
    await counting.close();
    let id = '';
    // Each store is a stage, and all are filled in the same way: the short suite stops at every fourth of them.
    const isTaken = (stage: string, at: number): boolean =>
      LONG || at % 4 === 0 || /^ledger|^accounts/.test(stage);
    for (const stopAt of [...new Set(stages)].filter(isTaken)) {
      const stop = new AbortController();
      const onProgress = (stage: string): void => {
        if (stage === stopAt) stop.abort();
      };
      const options = { signal: stop.signal, onProgress };
      expect(await codeOf(fill(folder.path, redis, options)), stopAt).toBe('AbortError');
      const mark = server.run('get', redis.key('fill', 'mark'));
      if (mark === '') continue;
      id ||= (JSON.parse(mark) as { id: string }).id;
      expect(JSON.parse(mark)).toMatchObject({ state: 'filling', id });
      const fresh = tempFolder();
      expect(await codeOf(requireFilled({ dataDir: fresh.path }, { redis, log: silentLogger }))).toBe(
        'NOT_READY',
      );
      fresh.remove();
      // A node that does not call requireFilled is not ready either.
      expect(await codeOf(withNode(redis, async () => {}))).toBe('NOT_READY');
    }
    expect(await fill(folder.path, redis)).toMatchObject({ resumed: true });
    await withNode(redis, async (access) => expect(await askAll(access)).toEqual(lone.asked));
    await requireFilled({ dataDir: folder.path }, { redis, log: silentLogger });
  });

  it('is complete for nodes only after the last step', async () => {
    /** A connection that breaks for good before the step of this name and number. */
    const breakingAt = (name: string, step: number): RedisStore => {
      let steps = 0;
      const script: RedisStore['script'] = (called, ...rest) => {
        const run = redis.script(called, ...rest);
        return async (...args) => {
          if (called === name && steps++ === step) throw new Error('broken');
          return run(...args);
        };
      };
      return { ...redis, script };
    };
    const last = SHARED_STORES.length - 1;
    // The step is the same for every store: the short suite breaks it at the first, at one between and at the last.
    for (const step of LONG ? SHARED_STORES.keys() : [0, last >> 1, last]) {
      await expect(fill(folder.path, breakingAt('fill_finish', step))).rejects.toThrow('broken');
      expect(await codeOf(withNode(redis, async () => {}))).toBe('NOT_READY');
    }
    // The first mark was written when the filling began, so this breaks the last step.
    await expect(fill(folder.path, breakingAt('fill_mark', 0))).rejects.toThrow('broken');
    await withNode(redis, async (access) => expect(await askAll(access)).toEqual(lone.asked));
    await requireFilled({ dataDir: folder.path }, { redis, log: silentLogger });
    await expect(fill(folder.path, redis)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('reports differences before nodes may use it', async () => {
    const stop = new AbortController();
    const onProgress = (stage: string): void => {
      if (stage === 'people' || stage === 'audit') stop.abort();
    };
    await codeOf(fill(folder.path, redis, { signal: stop.signal, onProgress }));
    // As a fail-over that lost some entries would leave it, or a manual change.
    const log = redis.key('acc0', 'log');
    const [id] = server.run('xrange', log, '-', '+', 'COUNT', '1').split('\n') as [string];
    server.run('xdel', log, id);
    await expect(fill(folder.path, redis)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    server.run('del', log);
    server.run('hset', redis.key('keys', 'data'), 'x', 'y');
    await fill(folder.path, redis);
    await withNode(redis, async (access) => expect(await askAll(access)).toEqual(lone.asked));
  });

  it('is rejected if Redis has data of nodes or of another folder', async () => {
    await withNode(redis, (access) => access.keys.create({ name: 'theirs' }));
    const before = server.run('dbsize');
    await expect(fill(folder.path, redis)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('Only an empty Redis can be filled'),
    });
    expect(server.run('dbsize')).toBe(before);

    const other = tempFolder();
    const begun = redisAt(server.url);
    try {
      const access = accessOf(other.path);
      await access.keys.create({ name: 'of another' });
      await access.close();
      const stop = new AbortController();
      const onProgress = (stage: string): void => {
        if (stage === 'audit') stop.abort();
      };
      await codeOf(fill(folder.path, begun, { signal: stop.signal, onProgress }));
      await expect(fill(other.path, begun)).rejects.toMatchObject({
        message: expect.stringContaining('an incomplete fill from another folder'),
      });
      await fill(folder.path, begun);
      await expect(fill(folder.path, begun)).rejects.toMatchObject({
        message: expect.stringContaining('filled from this folder'),
      });
    } finally {
      await begun.close();
      other.remove();
    }
  });

  it('is rejected while a process uses the folder, and leaves Redis empty', async () => {
    const program = `
      import { openLiveStore } from '${projectRoot}/dist/src/state/live-store.js';
      const store = openLiveStore('${join(folder.path, 'accounts', 'keys.mdb')}', 1);
      store.meta.get('generation');
      console.log('open');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
    try {
      await new Promise((resolve) => child.stdout.once('data', resolve));
      await expect(fill(folder.path, redis)).rejects.toMatchObject({
        code: 'STORE_BUSY',
        message: expect.stringContaining(`Process ${child.pid} uses`),
      });
    } finally {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    }
    expect(server.run('keys', `${redis.place.prefix}:*`)).toBe('');
    // A killed process no longer uses the files.
    await fill(folder.path, redis);
  });

  it('is rejected if the files changed during the copy', async () => {
    const program = `
      import { openLiveStore } from '${projectRoot}/dist/src/state/live-store.js';
      const store = openLiveStore('${join(folder.path, 'accounts', 'audit.mdb')}', 1);
      await store.meta.put('touched', ${worlds});
      await store.root.close();`;
    let isWritten = false;
    const onProgress = (stage: string): void => {
      if (isWritten || stage !== 'keys') return;
      isWritten = true;
      execFileSync(process.execPath, ['--input-type=module', '-e', program]);
    };
    await expect(fill(folder.path, redis, { onProgress })).rejects.toMatchObject({
      code: 'STORE_BUSY',
      message: expect.stringContaining('audit.mdb was changed meanwhile'),
    });
    expect(await codeOf(withNode(redis, async () => {}))).toBe('NOT_READY');
    expect(await fill(folder.path, redis)).toMatchObject({ resumed: true });
    await withNode(redis, async (access) => expect(await askAll(access)).toEqual(lone.asked));
  });

  it('names the command that copies accounts, and does not start without them', async () => {
    const log = { ...silentLogger, warn: () => void warned++ } as typeof silentLogger;
    let warned = 0;
    await expect(requireFilled({ dataDir: folder.path }, { redis, log })).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('assay redis fill'),
    });
    const fresh = tempFolder();
    await requireFilled({ dataDir: fresh.path }, { redis, log });
    fresh.remove();
    await withNode(redis, (access) => access.keys.create({ name: 'theirs' }));
    expect(warned).toBe(0);
    await requireFilled({ dataDir: folder.path }, { redis, log });
    expect(warned).toBe(1);
  });

  it('does not restore the state before the nodes if their Redis was lost', async () => {
    const again = tempFolder();
    try {
      const alone = accessOf(again.path);
      await alone.keys.create({ name: 'first' });
      await alone.close();
      await fill(again.path, redis);
      await withNode(redis, async () => {}, again.path);
      const empty = redisAt(server.url);
      try {
        await expect(fill(again.path, empty)).rejects.toMatchObject({
          code: 'INVALID_REQUEST',
          message: expect.stringContaining('its files are older'),
        });
        // Nor does the start of a node ask for a fill.
        await requireFilled({ dataDir: again.path }, { redis: empty, log: silentLogger });
      } finally {
        await empty.close();
      }
    } finally {
      again.remove();
    }
  });

  it('does not copy a stored answer without an owner, and reports it', async () => {
    const old = tempFolder();
    try {
      const alone = accessOf(old.path);
      await alone.keys.create({ name: 'first' });
      await charge(alone, 'acc0', 'kept', true);
      await alone.close();
      const ledger = openLiveStore(join(old.path, 'accounts', 'ledger.mdb'), 1);
      const endings = ledger.root.openDB<Buffer, Buffer>({
        ...{ name: 'endings', encoding: 'binary', keyEncoding: 'binary' },
      });
      // As versions before this one stored it.
      await ledger.root.transaction(() => {
        for (const { key } of [...endings.getRange()]) endings.putSync(key, Buffer.alloc(0));
      });
      await ledger.root.close();
      expect((await fill(old.path, redis)).ledger).toMatchObject({ answers: 0, answersLeft: 1 });
    } finally {
      old.remove();
    }
  });

  it('lists every store that nodes share, with its place', async () => {
    const world = tempFolder();
    const seen: string[] = [];
    const openStore: OpenStore = (path, formatVersion, options) => {
      seen.push(`${options.name} ${formatVersion} ${path.slice(world.path.length + 1)}`);
      return openLiveStore(path, formatVersion, options);
    };
    const access = accessOf(world.path, { openStore });
    access.audit();
    access.people();
    const billing = openedBilling(world.path, access, { stripeSecret: STRIPE, openStore });
    billing.open();
    await billing.close();
    await access.close();
    world.remove();
    const known = SHARED_STORES.map(({ name, formatVersion, file }) => `${name} ${formatVersion} ${file}`);
    expect(known).toEqual(expect.arrayContaining(seen));

    // The other stores are opened elsewhere: the test finds them in the source text.
    const texts = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && name !== 'redis-fill.ts')
      .map((name) => readFileSync(join(projectRoot, 'src', name), 'utf8'));
    const names = texts.flatMap((text) =>
      [...text.matchAll(/openStore\([^)]*FORMAT_VERSION, \{ name: '([\w-]+)'/g)].map(([, name]) => name),
    );
    expect(names.sort()).toEqual(SHARED_STORES.map(({ name }) => name).sort());
    for (const { file } of SHARED_STORES)
      expect(
        texts.some((text) => text.includes(`'${basename(file)}'`)),
        file,
      ).toBe(true);
  });

  describe('of six nodes', () => {
    it('has all accounts, each in its slot', async () => {
      const cluster = await startRedisCluster();
      const store = openRedis(
        parseRedisUrl(`${cluster.url}?prefix=moved`),
        { log: silentLogger },
        { replicas: 1 },
      );
      try {
        const stop = new AbortController();
        const onProgress = (stage: string): void => {
          if (stage === 'accounts: check') stop.abort();
        };
        expect(await codeOf(fill(folder.path, store, { signal: stop.signal, onProgress }))).toBe(
          'AbortError',
        );
        const report = await fill(folder.path, store);
        expect(report).toMatchObject({ resumed: true, ledger: { accounts: ACCOUNTS } });
        await withNode(store, async (access) => {
          expect(await askAll(access)).toEqual(lone.asked);
          expect(await access.ledger().verify()).toMatchObject({ accounts: ACCOUNTS, faults: [] });
        });
      } finally {
        await store.close();
        await cluster.stop();
      }
    });
  });
});
