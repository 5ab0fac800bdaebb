import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { LIMITS } from '../../../src/base/limits.ts';
import type { OpenBulkJobs } from '../../../src/jobs/bulk/open.ts';
import { faultsOfResults } from '../../../src/jobs/bulk/verify-results.ts';
import type { JobPage, JobUpload, JobView } from '../../../src/jobs/bulk-jobs.ts';
import { JOB_LIMITS } from '../../../src/jobs/limits.ts';
import type { OpenStore } from '../../../src/state/live-store.ts';
import { type LiveState, overLiveStates } from '../../setup/live-state.ts';
import { untilValue } from '../../support/wait.ts';
import {
  createTestBilling,
  createTestRunner,
  ended,
  type JobWorld,
  jobFoldersIn,
  jobWorld,
  linesOf,
  resultOf,
  send,
  type TestBilling,
  type TestRunner,
  WALLETS,
  wallet,
} from './world.ts';

overLiveStates((makeState, kind) => {
  let world: JobWorld;
  let jobs: OpenBulkJobs;
  let runner: TestRunner;
  let billing: TestBilling;
  let names = 0;
  let name: string;
  let state: LiveState;

  const filesOf = (id: string): string => join(world.folder.path, name, 'files', id);
  const folders = (): string[] => {
    const folder = join(world.folder.path, name, 'files');
    return jobFoldersIn(folder);
  };
  const open = async (more: { freeBytes?: () => number } = {}): Promise<OpenBulkJobs> => {
    const opened = world.open(runner, billing, { name, openStore: state.openStore, ...more });
    await state.ready();
    return opened;
  };
  const reopen = async (): Promise<void> => {
    await jobs.close();
    jobs = await open();
  };
  const wallets = (count: number, from = 0): string =>
    Array.from({ length: count }, (_, index) => `${wallet(from + index)}\n`).join('');
  const code = (error: unknown): string => (error as AssayError).code;

  beforeAll(async () => {
    world = await jobWorld();
  });
  afterAll(() => world.close());

  beforeEach(async () => {
    name = `jobs${names++}`;
    runner = createTestRunner(world.work);
    billing = createTestBilling();
    state = makeState();
    jobs = await open();
    jobs.start();
  });
  afterEach(async () => {
    await jobs.close();
    await state.close();
  });

  /** Sends a whole job, and holds its payment until `take` is called. */
  async function sendUnpaid() {
    let take = (): void => {};
    const gate = new Promise<void>((resolve) => {
      take = resolve;
    });
    const settle = billing.settle.bind(billing);
    billing.settle = async (job, units) => {
      if (units > 0) await gate;
      await settle(job, units);
    };
    runner.slots = 0;
    const sent = send(jobs, wallets(10));
    const [id] = await untilValue(folders, (names) => names.length === 1);
    await untilValue(
      () => (jobs.get('a', id as string) as JobView).items,
      (items) => items === 10,
    );
    return { sent, id, take };
  }

  /** A store of jobs that rejects writes while `isAway` returns true. */
  const refusingWhile =
    (isAway: () => boolean): OpenStore =>
    (path, version, options) => {
      const opened = state.openStore(path, version, options);
      const root = new Proxy(opened.root, {
        get(target, name) {
          const value = Reflect.get(target, name, target);
          if (typeof value !== 'function') return value;
          const isWrite = name === 'transaction' || name === 'childTransaction';
          return (...args: unknown[]) => {
            if (isWrite && isAway()) return Promise.reject(new AssayError('NOT_READY', 'Away.'));
            return Reflect.apply(value, target, args);
          };
        },
      });
      return { ...opened, root };
    };

  describe('a job', () => {
    it('keeps its result if its deletion cannot be written', async () => {
      let isAway = false;
      await jobs.close();
      jobs = world.open(runner, billing, { name, openStore: refusingWhile(() => isAway) });
      await state.ready();
      jobs.start();
      const { id } = await send(jobs, wallets(5));
      await ended(jobs, id);
      const before = await resultOf(jobs, id);
      isAway = true;
      await expect(jobs.cancel('a', id)).rejects.toMatchObject({ code: 'NOT_READY' });
      isAway = false;
      expect(await resultOf(jobs, id)).toBe(before);
      await jobs.cancel('a', id);
      await untilValue(folders, (names) => names.length === 0);
    });

    it.runIf(kind === 'LMDB')('has results that are verified byte by byte', async () => {
      // More than one read of a megabyte.
      const { id } = await send(jobs, wallets(20_000));
      await ended(jobs, id);
      await jobs.close();
      const folder = join(world.folder.path, name, 'files');
      const faults = (): Promise<readonly string[]> =>
        faultsOfResults(
          { storePath: join(world.folder.path, name, 'jobs.mdb'), folder, isShared: false },
          new AbortController().signal,
        );
      expect(await faults()).toEqual([]);
      const [answers] = readdirSync(filesOf(id), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .sort((a, b) => statSync(b).size - statSync(a).size) as [string];
      const bytes = readFileSync(answers);
      expect(bytes.length).toBeGreaterThan(1024 * 1024);
      const damaged = Buffer.from(bytes);
      damaged[damaged.length - 2] = (damaged[damaged.length - 2] as number) ^ 1;
      writeFileSync(answers, damaged);
      expect(await faults()).toEqual([expect.stringContaining('its checksum differs')]);
      writeFileSync(answers, bytes.subarray(0, -1));
      expect(await faults()).toEqual([expect.stringContaining('its checksum differs')]);
      rmSync(answers);
      expect(await faults()).toEqual([expect.stringContaining('is missing')]);
      jobs = await open();
    });

    it('answers every line in its place, and charges for the answered lines', async () => {
      // Two chunks or more.
      const count = kind === 'LMDB' ? 100_000 : 40_000;
      const bad = new Set([0, 1, 32_767, 32_768, count - 30_000, count - 1]);
      const text = Array.from({ length: count }, (_, index) =>
        bad.has(index) ? `bad ${index}` : wallet(index),
      ).join('\n');
      const queued = await send(jobs, text);
      expect(queued).toMatchObject({
        kind: 'labels',
        chain: 'ETH',
        items: count,
        bytesReceived: Buffer.byteLength(text),
        cost: { unit: 'intel', reserved: count, spent: null },
        expiresAt: null,
      });
      const done = await ended(jobs, queued.id);
      expect(done).toMatchObject({
        state: 'DONE',
        answered: count,
        failed: bad.size,
        cost: { reserved: count, spent: count - bad.size },
        secondsLeft: 0,
      });
      expect(done.itemsPerSecond).toBeGreaterThan(0);
      expect(Date.parse(done.expiresAt as string) - Date.parse(done.endedAt as string)).toBe(
        JOB_LIMITS.jobFilesKeptMs,
      );
      expect(billing.taken.get(done.id)).toBe(count - bad.size);
      const result = await resultOf(jobs, done.id);
      expect(Buffer.byteLength(result)).toBe(done.resultBytes);
      const lines = linesOf(result);
      expect(lines).toHaveLength(count);
      for (const index of bad)
        expect(lines[index]).toMatchObject({ address: `bad ${index}`, line: index + 1 });
      const others = lines.filter((_, index) => !bad.has(index));
      const sound = lines.map((_, index) => wallet(index)).filter((_, index) => !bad.has(index));
      expect(others.map(({ address }) => address)).toEqual(sound);
      expect(runner.tasks.length).toBeGreaterThan(count / 32_768);
      // The input is no longer needed, but the answers are.
      expect(readdirSync(filesOf(done.id))).toEqual(['answers']);
      // No other user of the machine can read it.
      for (const path of [filesOf(done.id), join(filesOf(done.id), '..')])
        expect(statSync(path).mode & 0o077).toBe(0);
    });

    // What follows reads files of results, which are the same over both kinds of state.
    it.runIf(kind === 'LMDB')('returns any range of its result, across chunks', async () => {
      const { id } = await send(jobs, wallets(33_000));
      await ended(jobs, id);
      const whole = Buffer.from(await resultOf(jobs, id));
      const first = (await jobs.result('a', id))?.parts(0, 10)[0]?.path as string;
      const cut = (await jobs.result('a', id))?.parts(0, whole.length)[0]?.end as number;
      expect(first).toContain(id);
      for (const [start, end] of [
        [0, 1],
        [cut - 500, cut + 500],
        [whole.length - 3, whole.length + 10],
        [1, whole.length],
        [whole.length, whole.length + 1],
      ] as const)
        expect(await resultOf(jobs, id, 'a', start, end)).toBe(whole.subarray(start, end).toString());
      expect(await jobs.result('a', id)).toMatchObject({
        bytes: whole.length,
        isComplete: true,
        etag: `${id}-${whole.length}`,
      });
    });

    it.runIf(kind === 'LMDB')(
      'shows the available result while it runs, in whole chunks without a gap',
      async () => {
        let open = (): void => {};
        const gate = new Promise<void>((resolve) => {
          open = resolve;
        });
        runner.before = ({ chunk }) => (chunk === 1 ? gate : undefined);
        const { id } = await send(jobs, wallets(70_000));
        const running = await untilValue(
          () => jobs.get('a', id) as JobView,
          ({ answered }) => answered === 70_000 - 32_768,
        );
        expect(running).toMatchObject({ state: 'RUNNING', endedAt: null, cost: { spent: null } });
        expect(running.secondsLeft).toBeGreaterThan(0);
        const partial = await resultOf(jobs, id);
        expect(linesOf(partial)).toHaveLength(32_768);
        expect(await jobs.result('a', id)).toMatchObject({
          bytes: Buffer.byteLength(partial),
          isComplete: false,
        });
        open();
        await ended(jobs, id);
        expect((await resultOf(jobs, id)).startsWith(partial)).toBe(true);
      },
    );

    it.runIf(kind === 'LMDB')('reports a lost or truncated file of its result before any byte', async () => {
      const { id } = await send(jobs, wallets(33_000));
      await ended(jobs, id);
      const result = await jobs.result('a', id);
      const parts = result?.parts(0, result.bytes) ?? [];
      expect(parts.length).toBeGreaterThan(1);
      await result?.requireFiles(parts);
      const last = parts.at(-1)?.path as string;
      truncateSync(last, 10);
      await expect(result?.requireFiles(parts)).rejects.toMatchObject({ code: 'NOT_FOUND', field: 'id' });
      await result?.requireFiles(parts.slice(0, -1));
      rmSync(last);
      await expect(result?.requireFiles(parts)).rejects.toThrow(/delete the job and send it again/);
    });

    it('reads CSV with a header, and answers one line fewer', async () => {
      const text = `chain,address\nBASE,${WALLETS.exchange}\n,${WALLETS.exchange}\n`;
      const { id, items } = await send(jobs, text, { format: 'csv' });
      expect(items).toBe(2);
      await ended(jobs, id);
      expect(linesOf(await resultOf(jobs, id)).map(({ chain }) => chain)).toEqual(['BASE', 'ETH']);
      const bare = await send(jobs, `${WALLETS.exchange}\n${WALLETS.unknown}`, { format: 'csv' });
      expect(bare.items).toBe(2);
    });

    it('answers a byte order mark alone as a line', async () => {
      for (const format of ['csv', 'ndjson'] as const)
        for (const kind of ['labels', 'sanctions'] as const) {
          const { id } = await send(jobs, '\uFEFF', { kind, format });
          expect(await ended(jobs, id)).toMatchObject({ state: 'DONE', answered: 1, failed: 1 });
        }
    });

    it('are listed by cursor, each once, although one is added', async () => {
      const ids: string[] = [];
      for (let n = 0; n < 5; n++) {
        ids.unshift((await send(jobs, WALLETS.exchange)).id);
        await ended(jobs, ids[0] as string);
      }
      const read: string[] = [];
      let cursor: string | null = null;
      do {
        const next = cursor === null ? {} : { cursor };
        const page: JobPage = await jobs.list('a', { limit: 2, offset: 0, ...next });
        read.push(...page.jobs.map(({ id }) => id));
        if (cursor === null) await ended(jobs, (await send(jobs, WALLETS.exchange)).id);
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(read).toEqual(ids);
      expect(jobs.counts().DONE).toBeGreaterThanOrEqual(6);
      expect(jobs.counts()).toMatchObject({ RECEIVING: 0, QUEUED: 0, RUNNING: 0 });
      for (const wrong of ['x', '../etc', 'f'.repeat(27)])
        expect(() => jobs.list('a', { limit: 2, offset: 0, cursor: wrong })).toThrow('cursor: not a cursor');
    });

    it('of one account is not found by another', async () => {
      const { id } = await send(jobs, WALLETS.exchange);
      await ended(jobs, id);
      expect(jobs.get('b', id)).toBeNull();
      expect(jobs.result('b', id)).toBeNull();
      expect(await jobs.cancel('b', id)).toBeNull();
      expect(jobs.list('b', { limit: 10, offset: 0 })).toEqual({ jobs: [], total: 0, nextCursor: null });
      expect(jobs.get('a', '../../etc')).toBeNull();
      const later = await send(jobs, WALLETS.exchange);
      const page = await jobs.list('a', { limit: 1, offset: 0 });
      expect([page.total, page.jobs[0]?.id]).toEqual([2, later.id]);
      const checked = await send(jobs, WALLETS.exchange, { kind: 'sanctions' });
      const some = await jobs.list('a', { limit: 1, offset: 0, kinds: ['sanctions', 'kyt'] });
      expect([some.total, some.jobs.map((job) => job.id)]).toEqual([1, [checked.id]]);
    });
  });

  describe('an Idempotency-Key', () => {
    const body = wallets(40);
    const once = 'f'.repeat(64);

    it('returns the same job for a repeated request, charged once, also after a restart and after deletion', async () => {
      const first = await send(jobs, body, { once });
      const second = await send(jobs, body, { once });
      expect(second).toEqual(first);
      await ended(jobs, first.id);
      await reopen();
      jobs.start();
      expect(await send(jobs, body, { once })).toEqual(first);
      expect([...billing.taken]).toEqual([[first.id, 40]]);
      expect((await jobs.list('a', { limit: 10, offset: 0 })).total).toBe(1);
      expect(folders()).toEqual([first.id]);
      await jobs.cancel('a', first.id);
      expect(await send(jobs, body, { once })).toEqual(first);
      expect([...billing.taken]).toEqual([[first.id, 40]]);
    });

    it('is rejected with another body, kind or chain, and expires after a day', async () => {
      const first = await send(jobs, body, { once });
      for (const [text, more] of [
        [wallets(41), {}],
        [body, { kind: 'sanctions' }],
        [body, { chain: 'BSC' }],
      ] as const)
        await expect(send(jobs, text, { once, ...more })).rejects.toThrow(/^Idempotency-Key: was used/);
      expect((await send(jobs, body, { once: 'e'.repeat(64) })).id).not.toBe(first.id);
      expect((await send(jobs, body)).id).not.toBe(first.id);
      world.clock.at += LIMITS.idempotencyMs;
      expect((await send(jobs, wallets(41), { once })).id).not.toBe(first.id);
    });

    it('is free again if its job was rejected or never accepted', async () => {
      billing.left = 39;
      await expect(send(jobs, body, { once })).rejects.toThrow(/Only 39/);
      billing.left = 1_000;
      billing.before = () => {
        throw new AssayError('NOT_READY', 'Nobody knows.');
      };
      await expect(send(jobs, body, { once })).rejects.toThrow(/Nobody knows/);
      billing.before = () => {};
      // The billing could not be asked whether units were taken. Until it answers, they may have been.
      await expect(send(jobs, body, { once })).rejects.toThrow(/still being processed/);
      world.clock.at += 30_000;
      const queued = await send(jobs, wallets(41), { once });
      await ended(jobs, queued.id);
      await reopen();
      jobs.start();
      await untilValue(folders, (left) => left.length === 1);
      expect(folders()).toEqual([queued.id]);
      expect([...billing.taken].filter(([, units]) => units > 0)).toEqual([[queued.id, 41]]);
    });

    it('of an interrupted upload asks the client to retry if another request took it over', async () => {
      let pay = (): void => {};
      const slow = await jobs.receive({
        accountId: 'a',
        kind: 'labels',
        format: 'ndjson',
        chain: 'ETH',
        once,
      });
      await slow.write(Buffer.from(body));
      const settle = billing.settle;
      const held = new Promise<void>((resolve) => {
        pay = resolve;
      });
      let isPaying = false;
      billing.settle = async (job, units) => {
        const isFirst = !isPaying;
        isPaying = true;
        if (isFirst) await held;
        await settle(job, units);
      };
      const late = slow.end().then(
        () => 'taken on',
        (error: unknown) => (error as Error).message,
      );
      await untilValue(
        () => isPaying,
        (is) => is,
      );
      world.clock.at += 30_000;
      const second = await send(jobs, body, { once });
      pay();
      expect(await late).toMatch(/still being processed/);
      await ended(jobs, second.id);
      expect([...billing.taken].filter(([, units]) => units > 0)).toEqual([[second.id, 40]]);
      expect((await send(jobs, body, { once })).id).toBe(second.id);
    });

    it('accepts one of two concurrent requests', async () => {
      const sent = await Promise.allSettled([1, 2, 3, 4].map(() => send(jobs, body, { once })));
      const ids = new Set(sent.flatMap((each) => (each.status === 'fulfilled' ? [each.value.id] : [])));
      expect(ids.size).toBe(1);
      for (const each of sent) if (each.status === 'rejected') expect(code(each.reason)).toBe('NOT_READY');
      expect([...billing.taken.values()].reduce((sum, units) => sum + units, 0)).toBe(40);
      expect(await send(jobs, body, { once })).toMatchObject({ id: [...ids][0] });
    });
  });

  describe('a rejected upload leaves no files behind', () => {
    const refused = async (upload: Promise<unknown>): Promise<string> => {
      const error = await upload.then(
        () => null,
        (reason: unknown) => reason,
      );
      await untilValue(
        () => folders(),
        (names) => names.length === 0,
      );
      expect(jobs.list('a', { limit: 10, offset: 0 })).toEqual({ jobs: [], total: 0, nextCursor: null });
      expect([...billing.taken.values()].every((units) => units === 0)).toBe(true);
      return code(error);
    };
    const sendOrAbort = async (text: string): Promise<void> => {
      const upload = await jobs.receive({ accountId: 'a', kind: 'labels', format: 'ndjson', chain: null });
      try {
        await upload.write(Buffer.from(text));
        await upload.end();
      } catch (error) {
        await upload.abort();
        throw error;
      }
    };

    it('if the body is empty, a line has no end, or only a header is sent', async () => {
      expect(await refused(send(jobs, ''))).toBe('INVALID_REQUEST');
      expect(await refused(send(jobs, 'address,chain\n', { format: 'csv' }))).toBe('INVALID_REQUEST');
      expect(await refused(sendOrAbort('x'.repeat(JOB_LIMITS.jobLineBytesMax + 2)))).toBe('INVALID_REQUEST');
      expect(await refused(sendOrAbort(`ok\n${'x'.repeat(JOB_LIMITS.jobLineBytesMax + 2)}\n`))).toBe(
        'INVALID_REQUEST',
      );
    });

    it('if it has more lines than its kind allows', async () => {
      const upload = await jobs.receive({ accountId: 'a', kind: 'kyt', format: 'ndjson', chain: null });
      const piece = Buffer.alloc(500_000, '\n');
      await upload.write(piece);
      await upload.write(piece);
      expect(() => upload.write(Buffer.from('\n'))).toThrow('more than 1000000 lines');
      await upload.abort();
      expect(folders()).toEqual([]);
    });

    it('if the quota is exceeded or cannot be charged now', async () => {
      billing.left = 2;
      expect(await refused(send(jobs, wallets(3)))).toBe('QUOTA_EXHAUSTED');
      expect(billing.left).toBe(2);
    });

    it('if the client disconnects, or the upload is cancelled meanwhile', async () => {
      const receive = (): Promise<JobUpload> =>
        jobs.receive({ accountId: 'a', kind: 'labels', format: 'ndjson', chain: 'ETH' });
      const gone = await receive();
      await gone.write(Buffer.from(wallets(100)));
      const [job] = (await jobs.list('a', { limit: 1, offset: 0 })).jobs;
      expect(job).toMatchObject({ state: 'RECEIVING', items: null, bytesReceived: 4_300 });
      await gone.abort();
      await gone.abort();
      expect(folders()).toEqual([]);
      const cancelled = await receive();
      const [id] = folders();
      expect(await jobs.cancel('a', id as string)).toMatchObject({ state: 'CANCELLED' });
      expect(() => cancelled.write(Buffer.from('x'))).toThrow('cancelled');
      await expect(cancelled.end()).rejects.toThrow('cancelled');
      expect(folders()).toEqual([]);
    });

    it('if it is cancelled during the charge, after the charge', async () => {
      const { sent, id, take } = await sendUnpaid();
      const cancelled = jobs.cancel('a', id as string);
      take();
      expect(await sent).toMatchObject({ state: 'QUEUED' });
      expect(await cancelled).toMatchObject({ state: 'CANCELLED', cost: { reserved: 10, spent: 0 } });
      expect(billing.taken.get(id as string)).toBe(0);
    });

    it('if the uploads of the account or the server are at their limit, also concurrently', async () => {
      const accounts = ['a', 'b', 'c', 'd', 'e', 'f'];
      const all = await Promise.allSettled(
        Array.from({ length: 60 }, (_, n) =>
          jobs.receive({
            accountId: accounts[n % accounts.length] as string,
            kind: 'labels',
            format: 'ndjson',
            chain: 'ETH',
          }),
        ),
      );
      const taken = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      const codes = all.flatMap((one) => (one.status === 'rejected' ? [code(one.reason)] : []));
      expect(taken).toHaveLength(JOB_LIMITS.jobUploadsMax);
      expect(new Set(codes)).toEqual(new Set(['OVERLOADED']));
      for (const accountId of accounts)
        expect((await jobs.list(accountId, { limit: 100, offset: 0 })).total).toBeLessThanOrEqual(
          JOB_LIMITS.jobUploadsPerAccount,
        );
      for (const upload of taken) await upload.abort();
      const own = await Promise.allSettled(
        Array.from({ length: JOB_LIMITS.jobUploadsPerAccount + 1 }, () =>
          jobs.receive({ accountId: 'a', kind: 'labels', format: 'ndjson', chain: 'ETH' }),
        ),
      );
      expect(own.filter(({ status }) => status === 'rejected')).toHaveLength(1);
      for (const one of own) if (one.status === 'fulfilled') await one.value.abort();
      expect(folders()).toEqual([]);
    });

    it('if the stored jobs of the account leave no space, until one is deleted', async () => {
      const { run } = runner;
      const answered = { bytes: JOB_LIMITS.jobBytesPerAccount - 2_000 };
      runner.run = async (task, signal) => ({ ...(await run(task, signal)), ...answered });
      const first = await send(jobs, 'bad\n');
      const { expiresAt } = await ended(jobs, first.id);
      // One line of 43 bytes and its answer fit; twenty do not fit, and cost nothing.
      const taken = billing.left;
      const refusal = await send(jobs, wallets(20)).catch((error: AssayError) => error);
      expect(refusal).toMatchObject({ code: 'OVERLOADED', retryAfterSeconds: 600 });
      expect((refusal as AssayError).message).toContain(`the maximum is ${JOB_LIMITS.jobBytesPerAccount} `);
      expect((refusal as AssayError).message).toContain(`the next one expires at ${expiresAt}`);
      expect([billing.left, folders()]).toEqual([taken, [first.id]]);
      await send(jobs, wallets(20), { accountId: 'b' });
      const second = await send(jobs, wallets(1), { once: 'second' });
      await ended(jobs, second.id);
      // If there is no room at all, the upload is not received.
      await expect(
        jobs.receive({ accountId: 'a', kind: 'labels', format: 'ndjson', chain: 'ETH' }),
      ).rejects.toThrow(/stores \d+ bytes/);
      // A job that was sent earlier is returned all the same.
      expect((await send(jobs, wallets(1), { once: 'second' })).id).toBe(second.id);
      await jobs.cancel('a', first.id);
      for (const { id } of (await jobs.list('a', { limit: 9, offset: 0 })).jobs) await jobs.cancel('a', id);
      answered.bytes = 100;
      expect(await ended(jobs, (await send(jobs, wallets(20))).id)).toMatchObject({ state: 'DONE' });
    });

    it('if the account has too many jobs, or the disk is full', async () => {
      runner.slots = 0;
      for (let count = 0; count < JOB_LIMITS.jobsOpenPerAccount; count++) await send(jobs, WALLETS.unknown);
      await expect(send(jobs, WALLETS.unknown)).rejects.toMatchObject({ code: 'OVERLOADED' });
      await send(jobs, WALLETS.unknown, { accountId: 'b' });
      await jobs.close();
      jobs = await open({ freeBytes: () => JOB_LIMITS.jobDiskFreeMin - 1 });
      await expect(send(jobs, WALLETS.unknown, { accountId: 'c' })).rejects.toMatchObject({
        code: 'OVERLOADED',
      });
    });
  });

  describe('a restart', () => {
    it('resumes where the last process stopped, and repeats no answered chunk', async () => {
      runner.before = ({ chunk }) => {
        if (chunk === 1) throw new AssayError('NOT_READY', 'Not yet.');
      };
      const { id } = await send(jobs, wallets(120_000));
      await untilValue(
        () => (jobs.get('a', id) as JobView).answered,
        (answered) => answered === 120_000 - 32_768,
      );
      await reopen();
      runner.tasks.length = 0;
      runner.before = () => {};
      jobs.start();
      await ended(jobs, id);
      expect(runner.tasks.map(({ chunk }) => chunk)).toEqual([1]);
      const lines = linesOf(await resultOf(jobs, id));
      expect(lines.map(({ address }) => address)).toEqual(
        Array.from({ length: 120_000 }, (_, at) => wallet(at)),
      );
    });

    it('keeps the rate of a job, without the time in which it was stopped', async () => {
      runner.before = ({ chunk }) => {
        if (chunk === 1) throw new AssayError('NOT_READY', 'Not yet.');
      };
      const { id } = await send(jobs, wallets(120_000));
      await untilValue(
        () => (jobs.get('a', id) as JobView).answered,
        (answered) => answered === 120_000 - 32_768,
      );
      const before = (jobs.get('a', id) as JobView).itemsPerSecond;
      expect(before).toBeGreaterThan(0);
      await reopen();
      world.clock.at += 3_600_000;
      runner.tasks.length = 0;
      jobs.start();
      await untilValue(
        () => runner.tasks.length,
        (tasks) => tasks > 0,
      );
      await untilValue(
        () => (jobs.get('a', id) as JobView).itemsPerSecond,
        (rate) => rate === before,
      );
      runner.before = () => {};
      const done = await ended(jobs, id);
      // If the hour without work counted, the rate would be about thirty a second.
      expect(done.itemsPerSecond).toBeGreaterThan(120_000 / 3_600);
    });

    it('removes interrupted uploads, refunds their charge, and removes unknown folders', async () => {
      const upload = await jobs.receive({ accountId: 'a', kind: 'labels', format: 'ndjson', chain: 'ETH' });
      await upload.write(Buffer.from(wallets(10)));
      // As if the process died after taking the units and before recording it.
      const settle = billing.settle.bind(billing);
      billing.settle = async (job, units) => {
        if (units > 0) await settle(job, units);
        throw new Error(units > 0 ? 'killed' : 'still dead');
      };
      await expect(upload.end()).rejects.toThrow('still dead');
      expect([...billing.taken.values()]).toEqual([10]);
      expect(folders()).toHaveLength(1);
      billing.settle = settle;
      await reopen();
      jobs.start();
      await untilValue(folders, (names) => names.length === 0);
      expect([...billing.taken.values()]).toEqual([0]);
      await untilValue(
        () => (jobs.list('a', { limit: 1, offset: 0 }) as JobPage).total,
        (total) => total === 0,
      );
      expect(jobs.list('a', { limit: 1, offset: 0 })).toEqual({ jobs: [], total: 0, nextCursor: null });
    });

    it('removes an interrupted upload even if the clock moved backwards', async () => {
      if (state.url !== '') return;
      const upload = await jobs.receive({ accountId: 'a', kind: 'labels', format: 'ndjson', chain: 'ETH' });
      await upload.write(Buffer.from(wallets(10)));
      const settle = billing.settle.bind(billing);
      billing.settle = async () => {
        throw new Error('killed');
      };
      await expect(upload.end()).rejects.toThrow('killed');
      billing.settle = settle;
      world.clock.at -= 40 * 24 * 3_600_000;
      try {
        await reopen();
        jobs.start();
        await untilValue(folders, (names) => names.length === 0);
        await untilValue(
          () => (jobs.list('a', { limit: 1, offset: 0 }) as JobPage).total,
          (total) => total === 0,
        );
      } finally {
        world.clock.at += 40 * 24 * 3_600_000;
      }
    });

    it('keeps a job that was being charged when the last process stopped', async () => {
      const { sent, id, take } = await sendUnpaid();
      const closed = jobs.close();
      take();
      expect(await sent).toMatchObject({ state: 'QUEUED' });
      await closed;
      jobs = await open();
      expect(jobs.get('a', id as string)).toMatchObject({ state: 'QUEUED', cost: { reserved: 10 } });
      expect(billing.taken.get(id as string)).toBe(10);
    });

    it('settles an ended job that was not settled', async () => {
      billing.before = (units) => {
        if (units === 2) throw new AssayError('LEDGER_UNAVAILABLE', 'Not now.');
      };
      const { id } = await send(jobs, `${wallets(2)}bad\n`);
      await untilValue(
        () => (jobs.get('a', id) as JobView).answered,
        (answered) => answered === 3,
      );
      await reopen();
      expect(jobs.get('a', id)).toMatchObject({ state: 'RUNNING', cost: { reserved: 3, spent: null } });
      expect(billing.taken.get(id)).toBe(3);
      billing.before = () => {};
      jobs.start();
      expect(await ended(jobs, id)).toMatchObject({ state: 'DONE', cost: { spent: 2 } });
      expect(billing.taken.get(id)).toBe(2);
    });

    it('removes expired files, and later the job', async () => {
      const { id } = await send(jobs, wallets(10));
      await ended(jobs, id);
      world.clock.at += JOB_LIMITS.jobFilesKeptMs;
      await reopen();
      jobs.start();
      await untilValue(folders, (names) => names.length === 0);
      expect(jobs.get('a', id)).toMatchObject({ state: 'DONE', answered: 10, resultBytes: 0 });
      expect(() => jobs.result('a', id)).toThrow('expired');
      world.clock.at += JOB_LIMITS.jobKeptMs;
      await reopen();
      jobs.start();
      await untilValue(
        () => jobs.get('a', id),
        (job) => job === null,
      );
    });
  });

  describe('cancelling', () => {
    it('stops a job; the available result remains and is charged', async () => {
      runner.before = ({ chunk }) => (chunk === 1 ? new Promise(() => {}) : undefined);
      const { id } = await send(jobs, `bad\n${wallets(69_999)}`);
      await untilValue(
        () => (jobs.get('a', id) as JobView).answered,
        (answered) => answered === 70_000 - 32_768,
      );
      const cancelled = await jobs.cancel('a', id);
      expect(cancelled).toMatchObject({
        state: 'CANCELLED',
        answered: 32_768,
        failed: 1,
        cost: { reserved: 70_000, spent: 32_767 },
      });
      expect(billing.taken.get(id)).toBe(32_767);
      expect(linesOf(await resultOf(jobs, id))).toHaveLength(32_768);
      expect(await jobs.result('a', id)).toMatchObject({ isComplete: true });
      expect(await jobs.cancel('a', id)).toMatchObject({ state: 'CANCELLED' });
      expect(jobs.get('a', id)).toBeNull();
      expect(folders()).toEqual([]);
    });
  });

  describe('a chunk that fails', () => {
    it('is retried, into another file', async () => {
      let failures = 0;
      runner.before = () => {
        if (failures++ < JOB_LIMITS.jobChunkAttempts - 1) throw new Error('a thread died');
      };
      const { id } = await send(jobs, wallets(5));
      expect(await ended(jobs, id)).toMatchObject({ state: 'DONE', answered: 5 });
      const outputs = runner.tasks.map(({ output }) => output);
      expect(new Set(outputs).size).toBe(JOB_LIMITS.jobChunkAttempts);
    });

    it('permanently ends its job, which charges for the available result', async () => {
      runner.before = async ({ chunk, jobId }) => {
        if (chunk === 0) return;
        await untilValue(
          () => (jobs.get('a', jobId) as JobView).answered,
          (answered) => answered > 0,
        );
        throw new Error('a thread died');
      };
      const { id } = await send(jobs, wallets(40_000));
      const failed = await ended(jobs, id);
      expect(failed).toMatchObject({ state: 'FAILED', answered: 32_768, cost: { spent: 32_768 } });
      expect(failed.error).toContain('could not be processed');
    });

    it('because it can never be answered ends the job at once, with the reason', async () => {
      runner.before = () => {
        throw new AssayError('INVALID_REQUEST', 'chain: send a job for each chain.', { field: 'chain' });
      };
      const { id } = await send(jobs, wallets(5));
      expect(await ended(jobs, id)).toMatchObject({
        state: 'FAILED',
        error: 'chain: send a job for each chain.',
        cost: { reserved: 5, spent: 0 },
      });
      expect(runner.tasks).toHaveLength(1);
    });

    it('permanently is retried if the failure cannot be written', async () => {
      let failures = 0;
      let isAway = false;
      await jobs.close();
      const openStore = refusingWhile(() => isAway);
      jobs = world.open(runner, billing, { name, openStore });
      await state.ready();
      jobs.start();
      runner.before = () => {
        isAway = ++failures === JOB_LIMITS.jobChunkAttempts;
        if (isAway) setTimeout(() => (isAway = false), 300);
        if (failures <= JOB_LIMITS.jobChunkAttempts) throw new Error('a thread died');
      };
      const { id } = await send(jobs, wallets(5));
      expect(await ended(jobs, id)).toMatchObject({ state: 'DONE', answered: 5, failed: 0 });
      expect(failures).toBe(JOB_LIMITS.jobChunkAttempts + 1);
    });

    it('because no node is ready waits, without counting an attempt', async () => {
      let refusals = 0;
      runner.before = () => {
        if (refusals++ < JOB_LIMITS.jobChunkAttempts) throw new AssayError('OVERLOADED', 'Later.');
      };
      const { id } = await send(jobs, wallets(5));
      expect(await ended(jobs, id)).toMatchObject({ state: 'DONE' });
    });
  });

  describe('a disk that fills up', () => {
    it('pauses jobs until there is space again', async () => {
      let free = 1e12;
      let looks = 0;
      await jobs.close();
      jobs = await open({
        freeBytes() {
          looks++;
          return free;
        },
      });
      jobs.start();
      runner.slots = 0;
      const { id } = await send(jobs, wallets(10));
      free = JOB_LIMITS.jobDiskFreeMin - 1;
      // The disk is checked once a second; the second check uses the result of the first.
      const before = looks;
      await untilValue(
        () => looks,
        (count) => count >= before + 2,
      );
      runner.slots = 2;
      jobs.scheduler.wake();
      expect(jobs.get('a', id)).toMatchObject({ state: 'QUEUED', answered: 0 });
      expect(runner.tasks).toEqual([]);
      free = 1e12;
      expect(await ended(jobs, id)).toMatchObject({ state: 'DONE' });
    });
  });

  describe('accounts', () => {
    it('take turns: a large job delays neither a small one nor other accounts', async () => {
      runner.slots = 1;
      const large = await send(jobs, wallets(4_000), { accountId: 'large', kind: 'screening' });
      const more = await send(jobs, wallets(500), { accountId: 'large', kind: 'screening' });
      await untilValue(
        () => runner.tasks.length,
        (tasks) => tasks >= 3,
      );
      const small = await send(jobs, wallets(200), { accountId: 'small', kind: 'screening' });
      const queuedAt = runner.tasks.length;
      const done = await ended(jobs, small.id, 'small');
      expect(done.state).toBe('DONE');
      const order = runner.tasks.map(({ jobId }) => jobId);
      const at = order.indexOf(small.id);
      // After the running chunk, and then every other one.
      expect(at).toBeLessThanOrEqual(queuedAt + 1);
      expect(order.slice(at, at + 4).filter((id) => id === small.id)).toHaveLength(2);
      // Within the account, both jobs progress.
      const own = runner.tasks.map(({ jobId }) => jobId).filter((id) => id !== small.id);
      expect(own).toContain(more.id);
      expect(jobs.get('large', large.id)).toMatchObject({ endedAt: null });
      await jobs.cancel('large', large.id);
      await jobs.cancel('large', more.id);
    });
  });
});
