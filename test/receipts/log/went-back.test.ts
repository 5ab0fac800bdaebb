/** The log of several nodes when their Redis goes back to an earlier state, over a real Redis. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { parseCheckpoint } from '../../../src/receipts/log/checkpoint.ts';
import { openReceiptLog, type ReceiptLog } from '../../../src/receipts/log/log.ts';
import { folderTarget } from '../../../src/receipts/log/places.ts';
import { LogPublisher } from '../../../src/receipts/log/publish.ts';
import type { LogStore } from '../../../src/receipts/log/store.ts';
import { openLogStore } from '../../../src/receipts/log/store-lmdb.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../../src/state/redis.ts';
import { openReplicated } from '../../../src/state/replicated-store.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { hasRedis, type RedisServer, startRedis } from '../../setup/redis.ts';
import { sleep } from '../../support/wait.ts';
import { encryption, entriesOf, ORIGIN } from './world.ts';

interface LogNode {
  readonly log: ReceiptLog;
  readonly store: LogStore;
  close(): Promise<void>;
}

describe.runIf(hasRedis)('the log of a Redis that went back', () => {
  let server: RedisServer;
  let redis: RedisStore;
  const folders: TempFolder[] = [];
  let nodes: LogNode[] = [];
  let worlds = 0;

  const newFolder = (): string => {
    const folder = tempFolder();
    folders.push(folder);
    mkdirSync(folder.path, { recursive: true });
    return folder.path;
  };
  async function node(folder = newFolder(), checkpointMs = 50): Promise<LogNode> {
    const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
    const own = openRedis(parseRedisUrl(`${server.url}?prefix=w${worlds}`), { log: silentLogger });
    const replicated = openReplicated({ ...deps, redis: own });
    let ready = Promise.resolve();
    const store = openLogStore(
      { path: join(folder, 'log.mdb') },
      {
        openStore(...of) {
          const live = replicated(...of);
          ready = live.ready();
          return live;
        },
      },
    );
    await ready;
    const log = await openReceiptLog(
      { origin: ORIGIN, fallbackOrigin: ORIGIN, isWitnessed: false, checkpointMs, othersRestoreMs: 500 },
      { ...deps, store, encryption: () => encryption },
    );
    let isClosed = false;
    const opened = {
      ...{ log, store },
      async close() {
        if (isClosed) return;
        isClosed = true;
        await log.close();
        await store.close();
        await own.close();
      },
    };
    nodes.push(opened);
    return opened;
  }
  /** Returns a function that puts the present state of the log in Redis back. */
  async function savedState(): Promise<() => Promise<void>> {
    const keys = await redis.connection.keys(`w${worlds}:*`);
    const dumps = await Promise.all(keys.map((key) => redis.connection.dumpBuffer(key)));
    return async () => {
      const all = redis.connection.multi();
      all.del(...(await redis.connection.keys(`w${worlds}:*`)));
      for (const [at, key] of keys.entries()) all.restore(key, 0, dumps[at] as Buffer);
      await all.exec();
    };
  }
  const sizeOf = ({ log }: LogNode): number => parseCheckpoint(log.checkpoint()).size;
  const servesSize = (one: LogNode, size: number): Promise<void> =>
    expect.poll(() => sizeOf(one), { timeout: 10_000 }).toBe(size);
  /** Appends as soon as the log accepts entries, and returns the index of the first one. */
  async function appended({ log }: LogNode, from: number, to: number): Promise<number | undefined> {
    for (;;) {
      try {
        return (await log.append(entriesOf(from, to)))[0]?.index;
      } catch (error) {
        if ((error as { code?: string }).code !== 'NOT_READY' || log.problem() !== null) throw error;
        await sleep(5);
      }
    }
  }

  beforeAll(async () => {
    server = await startRedis();
    redis = openRedis(parseRedisUrl(server.url), { log: silentLogger });
  });
  beforeEach(() => {
    worlds++;
  });
  afterEach(async () => {
    for (const one of nodes) await one.close();
    nodes = [];
  });
  afterAll(async () => {
    await redis.close();
    await server.stop();
    for (const { remove } of folders) remove();
  });

  it('has the entries after that state again, at their places, before any other', async () => {
    const [a, b] = [await node(), await node()];
    await a.log.append(entriesOf(0, 300));
    await servesSize(b, 300);
    const goBack = await savedState();
    await b.log.append(entriesOf(300, 700));
    await Promise.all([servesSize(a, 700), servesSize(b, 700)]);
    const before = parseCheckpoint(a.log.checkpoint());
    await goBack();
    // Requests go on: none of them may take the place of an entry that was lost.
    const places = await Promise.all([appended(a, 700, 710), appended(b, 710, 720)]);
    expect(places.sort()).toEqual([700, 710]);
    await Promise.all(nodes.map((one) => servesSize(one, 720)));
    for (const one of nodes) {
      await expect(one.log.audit(before)).resolves.toBe('consistent');
      expect(one.log.problem()).toBeNull();
      expect(one.store.indexOf('receipt-699')).toBe(699);
    }
  });

  it('appends nothing to that state, also if no checkpoint is due', async () => {
    const a = await node(newFolder(), 3_600_000);
    await a.log.append(entriesOf(0, 3));
    const goBack = await savedState();
    await a.log.append(entriesOf(3, 7));
    await goBack();
    // The transaction of this entry may be the first that notices it.
    expect(await appended(a, 7, 8)).toBe(7);
  });

  it('serves no shorter checkpoint meanwhile', async () => {
    const a = await node();
    await a.log.append(entriesOf(0, 3));
    await servesSize(a, 3);
    const goBack = await savedState();
    await a.log.append(entriesOf(3, 7));
    await servesSize(a, 7);
    await goBack();
    const untilMs = Date.now() + 2_000;
    let refusals = 0;
    while (Date.now() < untilMs) {
      try {
        expect(sizeOf(a)).toBe(7);
      } catch (error) {
        if ((error as { code?: string }).code !== 'NOT_READY') throw error;
        refusals++;
      }
      await sleep(1);
    }
    expect(refusals).toBeGreaterThan(0);
    expect(await appended(a, 7, 8)).toBe(7);
  });

  it('is published on, and not taken for a fork of what is published', async () => {
    const a = await node();
    await a.log.append(entriesOf(0, 3));
    await servesSize(a, 3);
    const goBack = await savedState();
    await a.log.append(entriesOf(3, 7));
    await servesSize(a, 7);
    const place = newFolder();
    const { signal } = new AbortController();
    await new LogPublisher(a.log, folderTarget(place)).publish(signal);
    await goBack();
    await expect.poll(() => a.log.isRestoring(), { interval: 1 }).toBe(true);
    // Another node takes the lease over, and reads the place first.
    const publisher = new LogPublisher(a.log, folderTarget(place));
    await expect(publisher.audit(signal)).rejects.toMatchObject({ code: 'NOT_READY' });
    await expect
      .poll(() =>
        publisher.publish(signal).then(
          () => 'published',
          () => null,
        ),
      )
      .toBe('published');
    expect(await appended(a, 7, 8)).toBe(7);
    await servesSize(a, 8);
    await publisher.publish(signal);
    expect(a.log.problem()).toBeNull();
    expect(parseCheckpoint(readFileSync(join(place, 'checkpoint'), 'utf8')).size).toBe(8);
  });

  it('is halted on the nodes that know the other history, if entries were appended since', async () => {
    const folder = newFolder();
    const a = await node(folder);
    await a.log.append(entriesOf(0, 3));
    await servesSize(a, 3);
    const goBack = await savedState();
    await a.log.append(entriesOf(3, 7));
    await servesSize(a, 7);
    await a.close();
    await goBack();
    const b = await node();
    await b.log.append(entriesOf(10, 30));
    await servesSize(b, 23);
    const again = await node(folder);
    expect(again.log.problem()?.reason).toContain('does not continue the 7 entries in');
    expect(() => again.log.checkpoint()).toThrow(/does not continue/);
    await expect(again.log.append(entriesOf(30, 31))).rejects.toMatchObject({ code: 'NOT_READY' });
    await again.close();
    // An operator who accepts the fork moves the file elsewhere.
    rmSync(join(folder, 'replicas', 'newer'), { recursive: true });
    const accepting = await node(folder);
    expect(await appended(accepting, 30, 31)).toBe(23);
    expect(accepting.log.problem()).toBeNull();
  });

  it('is halted if it was read before and its replica was not kept', async () => {
    const a = await node();
    await a.log.append(entriesOf(0, 3));
    await servesSize(a, 3);
    const goBack = await savedState();
    await a.log.append(entriesOf(3, 7));
    await servesSize(a, 7);
    // Until the timer has seen the checkpoint.
    await sleep(200);
    Object.assign(a.store, { newer: () => [] });
    await goBack();
    await expect
      .poll(() => a.log.problem()?.reason)
      .toContain('does not continue the checkpoint of 7 entries');
  });

  it('keeps its key if Redis went back to a state without a log', async () => {
    const folder = newFolder();
    const goBack = await savedStateOfEmpty();
    const a = await node(folder);
    await a.log.append(entriesOf(0, 5));
    await servesSize(a, 5);
    const { vkey } = a.log.verifier;
    await a.close();
    await goBack();
    const again = await node(folder);
    expect(again.log.verifier.vkey).toBe(vkey);
    await servesSize(again, 5);
  });

  /** A Redis with the store and no log: another database of it was written. */
  async function savedStateOfEmpty(): Promise<() => Promise<void>> {
    const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
    const own = openRedis(parseRedisUrl(`${server.url}?prefix=w${worlds}`), { log: silentLogger });
    const live = openReplicated({ ...deps, redis: own })(join(newFolder(), 'log.mdb'), 1, { name: 'log' });
    await live.ready();
    await live.meta.put('other', 1);
    const goBack = await savedState();
    await live.root.close();
    await own.close();
    return goBack;
  }
});
