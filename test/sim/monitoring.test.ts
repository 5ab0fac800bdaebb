/**
 * Monitoring in a simulated world: clock, chain, network and receivers in one process, all of them driven by one seed. A failing scenario
 * prints its seed; `ASSAY_TEST_SEED=<seed>` runs only that one, and it takes the same course.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { type Random, seededUint32 } from '../../src/base/random.ts';
import type { Block } from '../../src/chains/block.ts';
import type { BlockRef, ChainEvent } from '../../src/chains/families/port.ts';
import { loadAssetFacts } from '../../src/chains/known-assets.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { LabelReader } from '../../src/labels/index/reader.ts';
import type { Label } from '../../src/labels/label.ts';
import { createDispatcher } from '../../src/monitoring/delivery/dispatcher.ts';
import { ATTEMPTS_MAX, RETRY_WAITS_MS } from '../../src/monitoring/delivery/schedule.ts';
import type { Outcome, Send } from '../../src/monitoring/delivery/senders.ts';
import { takeEvent } from '../../src/monitoring/listener.ts';
import { loadMonitoringPolicy } from '../../src/monitoring/policy.ts';
import { createProcessor } from '../../src/monitoring/processor.ts';
import type { Delivery, MonitoredWallet } from '../../src/monitoring/records.ts';
import type { MonitoringStore } from '../../src/monitoring/store.ts';
import { openMonitoringStore } from '../../src/monitoring/store-lmdb.ts';
import { buildWatchTable } from '../../src/monitoring/watch-table.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { createEncryption } from '../../src/state/encryption.ts';

/** A fault that shows in one of twenty scenarios is found by 60 with a probability of 95 %; the long suite runs 1,000. */
const SCENARIOS = process.env.ASSAY_TEST_LONG === '1' ? 1_000 : 60;
/** A scenario takes some seconds on a busy machine. */
const TIMEOUT_MS = SCENARIOS > 120 ? 7_200_000 : 600_000;
const STEPS = 11;
const DAY_MS = 24 * 3_600_000;

/** A file system without a disk behind it: the store syncs at every commit, and a scenario makes a hundred. */
const ROOM = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const riskPolicy = loadPolicy(loadTaxonomy().rows);
/** Facts of files that ship, which take longer to read than a restart. */
const assets = loadAssetFacts();
const CONFIRMATIONS = 4;
const policy = {
  ...loadMonitoringPolicy(),
  confirmations: { ...loadMonitoringPolicy().confirmations, ETH: CONFIRMATIONS },
};

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
const WATCHED = [1, 2, 3].map(address);
const STRANGERS = [101, 102, 103].map(address);
const MIXER = address(201);
/** A scam only since the lists changed. */
const LATE_SCAM = address(202);

const label = (category: 'MIXER' | 'SCAM', threatLevel: 'HIGH'): Label => ({
  entity: { id: category, name: `The ${category}`, category, jurisdiction: null, url: null },
  scope: 'EVM',
  category,
  threatLevel,
  source: 'test',
  sourceUrl: null,
  tags: [],
  confidence: 1,
  sanctions: [],
  verified: true,
  synthetic: false,
  class: 'published',
  firstSeen: null,
  lastSeen: null,
});

/** Labels as of one version of the lists. */
function labelsOf(isLate: boolean): LabelReader {
  const known = new Map<string, readonly Label[]>([[MIXER.slice(2), [label('MIXER', 'HIGH')]]]);
  if (isLate) known.set(LATE_SCAM.slice(2), [label('SCAM', 'HIGH')]);
  return {
    meta: { dataVersion: isLate ? 'late' : 'early' },
    lookup: (key: Uint8Array) => known.get(Buffer.from(key).toString('hex').slice(4)) ?? [],
  } as unknown as LabelReader;
}

class Broken extends Error {}
function must(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Broken(what);
}

/** Runs the course of one seed. Throws Broken if monitoring breaks a guarantee. */
async function runScenario(seed: number): Promise<{ alerts: number; deliveries: number }> {
  const next = seededUint32(seed);
  const below = (n: number): number => next() % n;
  const chance = (percent: number): boolean => below(100) < percent;
  const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T;

  let nowMs = Date.UTC(2026, 0, 5, 9);
  const clock: Clock = { now: () => nowMs, monotonic: () => nowMs };
  const random: Random = { bytes: (count) => Uint8Array.from({ length: count }, () => below(256)) };
  const encryption = createEncryption(new Uint8Array(32), random);
  const folder = mkdtempSync(join(ROOM, 'assay-sim-'));
  let isLate = false;

  // The chain: its current blocks, and functions that change it.
  let salt = 0;
  const chain: Block[] = [];
  let hashes = 0;
  const makeTransfer = (height: number, again?: Transfer): Transfer => ({
    chain: 'ETH',
    txHash: again?.txHash ?? `0x${(++hashes).toString(16).padStart(64, '0')}`,
    position: 'value',
    blockNumber: height,
    timestampMs: 0,
    from: again?.from ?? pick([...WATCHED, ...STRANGERS, MIXER, LATE_SCAM]),
    to: again?.to ?? pick([...WATCHED, ...STRANGERS, MIXER]),
    asset: 'ETH',
    amount: again?.amount ?? BigInt(1 + below(1_000)),
    decimals: 18,
    valueUsd: again?.valueUsd ?? 1 + below(5_000),
  });
  const extend = (reuse: Transfer[]): void => {
    const height = chain.length;
    const transfers = Array.from({ length: below(4) }, () => makeTransfer(height));
    while (reuse.length > 0 && chance(70)) transfers.push(makeTransfer(height, reuse.shift()));
    chain.push({
      chain: 'ETH',
      height,
      hash: `h${height}.${salt++}`,
      parentHash: chain.at(-1)?.hash ?? null,
      timestampMs: nowMs,
      transfers,
    });
  };
  /** Replaces the newest blocks; some of their transfers are included again, in other blocks. */
  const reorg = (depth: number): void => {
    const dropped = chain.splice(Math.max(1, chain.length - depth));
    const reuse = dropped.flatMap(({ transfers }) => [...transfers]).filter(() => chance(60));
    for (let i = 0; i <= dropped.length; i++) extend(reuse);
  };
  extend([]);

  /** Yields the events of a node for a reader that has `known`: at most a few events, some of them twice. */
  function* events(known: readonly BlockRef[]): Generator<ChainEvent> {
    const last = known.at(-1);
    let from = last === undefined ? chain.length - 1 : last.height + 1;
    if (last !== undefined && chain[last.height]?.hash !== last.hash) {
      const ancestor = known.findLast(({ height, hash }) => chain[height]?.hash === hash) ?? null;
      const dropped = known.filter(({ height }) => height > (ancestor?.height ?? -1)).reverse();
      yield { type: 'reorg', ancestor, dropped };
      from = (ancestor?.height ?? -1) + 1;
    }
    for (let height = from; height < chain.length; height++) {
      const block = chain[height] as Block;
      yield { type: 'block', block, completeness: 'COMPLETE' };
      if (chance(10)) yield { type: 'block', block, completeness: 'COMPLETE' };
    }
  }

  // The network: receivers that accept, fail, time out, are gone, or ask for a delay.
  const received = new Map<string, number>();
  let isNetworkGood = false;
  const send: Send = async ({ id }: Delivery): Promise<Outcome> => {
    const retry = (
      responseStatus: number | null,
      error: string,
      retryAfterMs: number | null = null,
    ): Outcome => ({
      kind: 'RETRY',
      responseStatus,
      error,
      retryAfterMs,
    });
    const luck = isNetworkGood ? 0 : below(100);
    if (luck >= 97) return { kind: 'GONE', responseStatus: 410, error: 'gone' };
    if (luck >= 85) return retry(null, 'timeout');
    if (luck >= 75) return retry(500, 'error');
    if (luck >= 70) return retry(429, 'slow down', below(100_000) * 1_000);
    if (luck >= 65) {
      // The message arrived, but the response did not.
      received.set(id, (received.get(id) ?? 0) + 1);
      return retry(null, 'cut');
    }
    received.set(id, (received.get(id) ?? 0) + 1);
    return { kind: 'DELIVERED', responseStatus: 204 };
  };

  const open = (): {
    store: MonitoringStore;
    step: (budget: number) => Promise<void>;
    close: () => Promise<void>;
    dispatcher: ReturnType<typeof createDispatcher>;
    recheck: () => Promise<unknown>;
  } => {
    const store = openMonitoringStore({ path: join(folder, 'm.lmdb') }, { clock, random, encryption });
    const processor = createProcessor({
      store,
      policy,
      riskPolicy,
      assets,
      labels: () => labelsOf(isLate),
      transfers: null,
      clock,
    });
    const senders = { webhook: send, email: send, slack: send, telegram: send };
    const dispatcher = createDispatcher({ outbox: store.outbox, senders, clock, log: silentLogger });
    async function* asTheyAre(transfers: Iterable<Transfer>): AsyncIterable<Transfer> {
      yield* transfers;
    }
    return {
      store,
      dispatcher,
      recheck: () => processor.recheck(new AbortController().signal),
      /** Reads at most `budget` events: then the connection is cut. */
      async step(budget) {
        let left = budget;
        for (const event of events(store.blocks('ETH'))) {
          if (left-- === 0) return;
          const table = buildWatchTable(store.watched());
          await takeEvent('ETH', event, table, {
            processor,
            ingest: null,
            price: asTheyAre,
            log: silentLogger,
          });
        }
      },
      async close() {
        await dispatcher.stop();
        await store.close();
      },
    };
  };

  let world = open();
  const wallets: MonitoredWallet[] = [];
  for (const [at, walletAddress] of WATCHED.entries())
    wallets.push(
      await world.store.addWallet(
        {
          accountId: at === 2 ? 'b' : 'a',
          chain: 'ETH',
          walletAddress,
          label: null,
          riskScore: null,
          riskLevel: null,
          enabledRules: ['MIXING-001', 'SCAM-001'],
          customWebhookUrl: `https://hooks.example.org/${at}`,
          alertThreshold: 'all',
          alertFrequency: 'realtime',
          notes: null,
          watchFromHeight: null,
        },
        10,
      ),
    );
  try {
    await world.step(1);
    let deepest = 0;
    const startHeight = world.store.blocks('ETH').at(-1)?.height ?? 0;
    for (let at = 0; at < STEPS; at++) {
      nowMs += 1_000 + below(60_000);
      const dice = below(100);
      if (dice < 40) for (let i = below(3); i >= 0; i--) extend([]);
      else if (dice < 55) reorg(1 + below(4));
      else if (dice < 65) nowMs += below(10) * 3_600_000;
      else if (dice < 80) {
        await world.close();
        world = open();
      } else if (dice < 85 && !isLate) {
        isLate = true;
        await world.recheck();
      } else await world.dispatcher.runDue();
      await world.step(below(6));
      deepest = Math.max(deepest, world.store.blocks('ETH').at(-1)?.height ?? 0);
      for (const accountId of ['a', 'b'])
        for (const { final, transaction, sequence } of world.store.alerts(
          accountId,
          {},
          { limit: 10_000, offset: 0 },
        ).alerts)
          must(
            !final || transaction === null || transaction.blockNumber + CONFIRMATIONS - 1 <= deepest,
            `alert ${sequence} is final too early`,
          );
    }

    // Calm: every receiver answers, nothing changes any more, and time passes until nothing is pending.
    isNetworkGood = true;
    for (let i = 0; i < 5; i++) extend([]);
    await world.step(Number.MAX_SAFE_INTEGER);
    await world.dispatcher.runDue();
    for (const _ of RETRY_WAITS_MS) {
      if (world.store.outbox.waitingCount() === 0) break;
      nowMs += 2 * DAY_MS;
      await world.dispatcher.runDue();
    }

    const { store } = world;
    must(store.outbox.waitingCount() === 0, 'something still waits for its receiver');
    let alertCount = 0;
    let deliveryCount = 0;
    for (const wallet of wallets) {
      const own = store.transactions(wallet.accountId, wallet.id, { limit: 10_000, offset: 0 });
      const name = (one: { hash: string; blockNumber: number }): string =>
        `${one.hash} in ${one.blockNumber}`;
      const stored = own.transactions.filter(({ reorged }) => !reorged).map(name);
      const wanted = chain
        .filter(({ height }) => height >= startHeight)
        .flatMap(({ transfers }) => transfers)
        .filter(({ from, to }) => from === wallet.walletAddress || to === wallet.walletAddress)
        .map(({ txHash, blockNumber }) => name({ hash: txHash, blockNumber }));
      must(new Set(stored).size === stored.length, `a transfer of ${wallet.walletAddress} is there twice`);
      must(new Set(own.transactions.map(({ hash }) => hash)).size === own.total, 'a transfer has two rows');
      // The wallets were added before the first block was read, so none of its transfers may be missing.
      const missing = wanted.filter((one) => !stored.includes(one));
      must(missing.length === 0, `${wallet.walletAddress} misses ${missing.join(', ')}`);
      must(
        stored.every((one) => wanted.includes(one)),
        `${wallet.walletAddress} has a transfer that the chain has not`,
      );
    }
    for (const accountId of ['a', 'b']) {
      const { alerts } = store.alerts(accountId, {}, { limit: 10_000, offset: 0 });
      alertCount += alerts.length;
      const deliveries = store.outbox.list(accountId, {}, { limit: 10_000 }).deliveries;
      deliveryCount += deliveries.length;
      const causes = new Set<string>();
      for (const alert of alerts) {
        const about = alert.transaction?.hash ?? `list ${alert.title}`;
        const cause = `${alert.walletId} ${alert.ruleId} ${about}`;
        must(!causes.has(cause), `two alerts of one cause: ${cause}`);
        causes.add(cause);
        const onChain =
          alert.transaction === null ||
          chain.some(({ transfers }) => transfers.some(({ txHash }) => txHash === alert.transaction?.hash));
        must(
          alert.reorged === !onChain,
          `alert ${alert.sequence} is ${alert.reorged ? '' : 'not '}marked as taken back`,
        );
        const isDeep = (alert.transaction?.blockNumber ?? 0) + CONFIRMATIONS <= chain.length;
        must(
          alert.reorged || alert.final === isDeep,
          `alert ${alert.sequence} is ${alert.final ? '' : 'not '}final`,
        );
        const created = deliveries.filter(
          ({ alertId, event }) => alertId === alert.id && event === 'alert.created',
        );
        must(created.length === 1, `alert ${alert.sequence} was stored for delivery ${created.length} times`);
      }
      for (const { id, status, attempts } of deliveries) {
        if (status === 'DELIVERED') must((received.get(id) ?? 0) >= 1, `delivery ${id} says it arrived`);
        else must(status === 'FAILED', `delivery ${id} is ${status} in the end`);
        if (status === 'FAILED' && attempts.at(-1)?.responseStatus !== 410)
          must(attempts.length === ATTEMPTS_MAX, `delivery ${id} failed after ${attempts.length} attempts`);
        must(
          (received.get(id) ?? 0) <= attempts.length,
          `delivery ${id} arrived more often than it was sent`,
        );
      }
      // Every flagged transfer of the chain has its alert.
      for (const wallet of wallets.filter((one) => one.accountId === accountId))
        for (const { transfers, height } of chain.slice(startHeight))
          for (const { txHash, from, to } of transfers)
            if (
              (from === MIXER && to === wallet.walletAddress) ||
              (to === MIXER && from === wallet.walletAddress)
            )
              must(
                alerts.some(
                  ({ walletId, transaction }) =>
                    walletId === wallet.id &&
                    transaction?.hash === txHash &&
                    transaction.blockNumber === height,
                ),
                `no alert for ${txHash} of ${wallet.walletAddress}`,
              );
      // A wallet that dealt with the later scam got one alert about the changed list.
      if (isLate)
        for (const wallet of wallets.filter((one) => one.accountId === accountId)) {
          const told = alerts.filter(
            ({ walletId, riskType }) => walletId === wallet.id && riskType === 'LIST_CHANGE',
          );
          must(told.length <= 1, `${told.length} alerts for one change of a list`);
        }
    }
    return { alerts: alertCount, deliveries: deliveryCount };
  } finally {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('monitoring through reorgs, cuts, duplicates, restarts and bad receivers', () => {
  const only = process.env.ASSAY_TEST_SEED;
  const seeds = only === undefined ? Array.from({ length: SCENARIOS }, (_, i) => i + 1) : [Number(only)];

  it(`keeps its promises in ${seeds.length} scenarios`, { timeout: TIMEOUT_MS }, async () => {
    let alerts = 0;
    let deliveries = 0;
    for (const seed of seeds) {
      try {
        const counts = await runScenario(seed);
        alerts += counts.alerts;
        deliveries += counts.deliveries;
      } catch (error) {
        throw new Error(`Seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        });
      }
    }
    // A world in which nothing happens would keep every guarantee.
    if (only === undefined) {
      expect(alerts).toBeGreaterThan(SCENARIOS);
      expect(deliveries).toBeGreaterThan(alerts);
    }
  });

  it('takes the same course for the same seed', async () => {
    expect(await runScenario(424_242)).toEqual(await runScenario(424_242));
  });
});
