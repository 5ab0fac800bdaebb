/** Wallets are screened again after their alerts and by schedule: once, on one node, and within limits. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { walletAnswer } from '../../src/monitoring/answers.ts';
import { MONITORING_LIMITS } from '../../src/monitoring/limits.ts';
import type { Duty } from '../../src/monitoring/listener.ts';
import type { Monitoring, MonitoringDeps } from '../../src/monitoring/open.ts';
import type { MonitoredWallet, MonitoringChain } from '../../src/monitoring/records.ts';
import type { AlertDraft } from '../../src/monitoring/store.ts';
import { FORMAT_VERSION } from '../../src/monitoring/store-lmdb.ts';
import type { RiskLevel } from '../../src/risk/policy.ts';
import { createRedisLeases } from '../../src/state/leases-redis.ts';
import { openLiveStore } from '../../src/state/live-store.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { type LiveState, overLiveStates, replicatedState } from '../setup/live-state.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';
import { NOTHING_READ, openedMonitoring, screeningJson } from './opened.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** After an alert: the gap since the last screening, the delay, the interval of checks, and time for a busy machine. */
const SOON = {
  timeout: MONITORING_LIMITS.walletRefreshGapMs + MONITORING_LIMITS.walletRefreshLookMs + 20_000,
  interval: 50,
};

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
const FINDING: AlertDraft = {
  ruleId: 'SANCTIONS-001',
  ruleName: 'Sanctions',
  severity: 'CRITICAL',
  title: 't',
  message: 'm',
  category: 'SANCTIONED_ENTITY',
  riskType: 'COUNTERPARTY',
  transaction: null,
  final: true,
};

/** A clock that the test moves and that runs on in between. */
class MovedClock {
  aheadMs = 0;
  now = (): number => Date.now() + this.aheadMs;
  monotonic = (): number => performance.now();
}

/** Screenings with one score for all, which the test sets. */
class Screenings {
  readonly asked: string[] = [];
  score: readonly [number, RiskLevel] = [0, 'LOW'];
  readonly clock: MovedClock;
  /** Each screening waits for it before it answers. */
  held: Promise<unknown> = Promise.resolve();
  isFailing = false;

  constructor(clock: MovedClock) {
    this.clock = clock;
  }

  screen: MonitoringDeps['screen'] = async ({ address: asked }) => {
    this.asked.push(asked);
    const answer = screeningJson(...this.score, this.clock.now());
    await this.held;
    if (this.isFailing) throw new Error('the pool is full');
    return answer;
  };
}

const alert = (of: Monitoring, wallet: MonitoredWallet, height: number): Promise<void> =>
  of.service.store.applyBlock('ETH', { height, hash: `b${height}` }, (writer) => {
    writer.raise(wallet, FINDING, `block ${height}`, null);
  });

overLiveStates((makeState) => {
  let folder: TempFolder;
  let state: LiveState;
  let clock: MovedClock;
  let screenings: Screenings;
  let monitoring: Monitoring;

  const open = async (deps: Partial<MonitoringDeps> = {}): Promise<Monitoring> => {
    const { openStore } = state;
    const opened = openedMonitoring(folder.path, { clock, screen: screenings.screen, openStore, ...deps });
    await state.ready();
    return opened;
  };
  beforeEach(async () => {
    folder = memoryFolder();
    state = makeState();
    clock = new MovedClock();
    screenings = new Screenings(clock);
    monitoring = await open();
  });
  afterEach(async () => {
    await monitoring.close();
    await state.close();
    folder.remove();
  });

  const register = (n: number): Promise<MonitoredWallet> =>
    monitoring.service.register('a', { walletAddress: address(n), chain: 'ETH' });
  const current = ({ id }: MonitoredWallet): MonitoredWallet => monitoring.service.wallet('a', id);
  const start = (): void => monitoring.start({ follows: true, sends: false, bills: false });

  it('stores the screening result of a new wallet', async () => {
    screenings.score = [80, 'CRITICAL'];
    const wallet = await register(1);
    const answer = walletAnswer(current(wallet));
    expect(answer).toMatchObject({
      riskScore: 80,
      riskLevel: 'CRITICAL',
      assessed: true,
      coverage: NOTHING_READ,
    });
    expect(Math.abs(Date.parse(answer.screenedAt) - Date.now())).toBeLessThan(60_000);
  });

  it('screens a wallet again after an alert, sends the new score, and changes nothing else', async () => {
    start();
    const wallet = await register(1);
    const other = await register(2);
    screenings.score = [80, 'CRITICAL'];
    // The gap since the registration has passed.
    clock.aheadMs += MONITORING_LIMITS.walletRefreshGapMs;
    const events: string[] = [];
    monitoring.service.store.onChange(({ kind }) => events.push(kind));
    await alert(monitoring, wallet, 1);
    await expect.poll(() => current(wallet).riskScore, SOON).toBe(80);
    const after = current(wallet);
    expect(after.screenedAtMs).toBeGreaterThan(wallet.screenedAtMs as number);
    const { screenedAtMs } = after;
    expect(after).toEqual({ ...wallet, riskScore: 80, riskLevel: 'CRITICAL', assessed: true, screenedAtMs });
    const { wallets } = monitoring.service.store.wallets(
      'a',
      { includeDeleted: false },
      { limit: 10, offset: 0 },
    );
    expect(wallets.map(({ riskScore }) => riskScore)).toEqual([80, 0]);
    // Announced right after it can be read.
    await expect.poll(() => events, SOON).toEqual(['alert.created', 'wallet.updated']);
    expect(current(other).screenedAtMs).toBe(other.screenedAtMs);
    expect(screenings.asked).toEqual([address(1), address(2), address(1)]);
  });

  it('screens once for simultaneous alerts, and again for one raised meanwhile', async () => {
    const wallet = await register(1);
    start();
    // The gap since the registration has passed.
    clock.aheadMs += MONITORING_LIMITS.walletRefreshGapMs;
    let release: (value?: unknown) => void = () => {};
    screenings.held = new Promise((resolve) => {
      release = resolve;
    });
    await alert(monitoring, wallet, 1);
    await alert(monitoring, wallet, 2);
    await expect.poll(() => screenings.asked.length, SOON).toBe(2);
    screenings.score = [80, 'CRITICAL'];
    await alert(monitoring, wallet, 3);
    release();
    await expect.poll(() => current(wallet).riskScore, SOON).toBe(80);
    expect(screenings.asked.length).toBe(3);
    await sleep(3 * MONITORING_LIMITS.walletRefreshLookMs);
    expect(screenings.asked.length).toBe(3);
  });

  it('screens again when the block of an alert is reverted', async () => {
    const wallet = await register(1);
    await monitoring.service.store.applyBlock('ETH', { height: 1, hash: 'b1' }, (writer) => {
      const raised = writer.raise(wallet, FINDING, 'block 1', null);
      const transaction = writer.addTransaction({
        accountId: 'a',
        walletId: wallet.id,
        hash: '0x1',
        position: 'value',
        blockNumber: 1,
        blockHash: 'b1',
        timestampMs: 0,
        direction: 'in',
        counterparty: { address: address(9), entity: null },
        asset: 'ETH',
        amount: '1',
        amountUsd: 1,
        riskScore: null,
        riskLevel: null,
      });
      writer.changeTransaction({ ...transaction, alertIds: [raised?.id as string] });
    });
    screenings.score = [80, 'CRITICAL'];
    clock.aheadMs += 2 * MONITORING_LIMITS.walletRefreshGapMs;
    start();
    await expect.poll(() => current(wallet).riskScore, SOON).toBe(80);
    screenings.score = [0, 'LOW'];
    clock.aheadMs += MONITORING_LIMITS.walletRefreshGapMs;
    await monitoring.service.store.revert('ETH', 0, () => {});
    await expect.poll(() => current(wallet).riskScore, SOON).toBe(0);
  });

  it('screens each active wallet once a day, and no other wallet', async () => {
    const wallets = [await register(1), await register(2), await register(3)] as const;
    await monitoring.service.change('a', wallets[1].id, { status: 'PAUSED' });
    start();
    clock.aheadMs = DAY_MS * 0.8;
    await sleep(3 * MONITORING_LIMITS.walletRefreshLookMs);
    expect(screenings.asked.length).toBe(3);
    clock.aheadMs = DAY_MS + 60_000;
    screenings.score = [54, 'HIGH'];
    await expect.poll(() => wallets.map((wallet) => current(wallet).riskScore), SOON).toEqual([54, 0, 54]);
    await sleep(3 * MONITORING_LIMITS.walletRefreshLookMs);
    expect(screenings.asked.length).toBe(5);
    // If a wallet is reactivated after its day, it is screened at once.
    await monitoring.service.change('a', wallets[1].id, { status: 'ACTIVE' });
    await expect.poll(() => current(wallets[1]).riskScore, SOON).toBe(54);
    clock.aheadMs += DAY_MS;
    screenings.score = [0, 'LOW'];
    await expect.poll(() => wallets.map((wallet) => current(wallet).riskScore), SOON).toEqual([0, 0, 0]);
  });

  it('screens if the clock was set back', async () => {
    clock.aheadMs = 40 * DAY_MS;
    const [scheduled, alerted] = [await register(1), await register(2)] as const;
    await alert(monitoring, alerted, 1);
    clock.aheadMs = 0;
    screenings.score = [54, 'HIGH'];
    start();
    const scores = () => [scheduled, alerted].map((wallet) => current(wallet).riskScore);
    await expect.poll(scores, SOON).toEqual([54, 54]);
    // From then on, the current clock counts.
    expect(screenings.asked.length).toBe(4);
    screenings.score = [80, 'CRITICAL'];
    clock.aheadMs += MONITORING_LIMITS.walletRefreshGapMs;
    await alert(monitoring, scheduled, 2);
    await expect.poll(() => current(scheduled).riskScore, SOON).toBe(80);
  });

  it('retries a failed screening, also after a restart', async () => {
    const wallet = await register(1);
    clock.aheadMs += MONITORING_LIMITS.walletRefreshGapMs;
    screenings.isFailing = true;
    await alert(monitoring, wallet, 1);
    start();
    await expect.poll(() => screenings.asked.length, SOON).toBe(2);
    await sleep(3 * MONITORING_LIMITS.walletRefreshLookMs);
    expect(screenings.asked.length).toBe(2);
    await monitoring.close();
    screenings.isFailing = false;
    screenings.score = [80, 'CRITICAL'];
    monitoring = await open();
    start();
    clock.aheadMs += MONITORING_LIMITS.walletRefreshRetryMs;
    await expect.poll(() => current(wallet).riskScore, SOON).toBe(80);
  });
});

describe('a store of an earlier version', () => {
  it('opens with defaults, and its wallets are screened', async () => {
    const folder = memoryFolder();
    const clock = new MovedClock();
    const screenings = new Screenings(clock);
    const deps = { clock, screen: screenings.screen };
    const before = openedMonitoring(folder.path, deps);
    const { id, ...registered } = await before.service.register('a', {
      walletAddress: address(1),
      chain: 'ETH',
    });
    await before.close();
    // Records and databases as they were before wallets were screened again.
    const live = openLiveStore(`${folder.path}/monitoring/monitoring.lmdb`, FORMAT_VERSION, { maxDbs: 40 });
    const { assessed, coverage, screenedAtMs, ...old } = registered;
    expect([assessed, coverage, screenedAtMs]).not.toContain(undefined);
    await live.root.openDB({ name: 'wallets', encoding: 'msgpack' }).put(['a', id], { id, ...old });
    await live.root.openDB({ name: 'refreshQueue', encoding: 'string' }).drop();
    await live.root.openDB({ name: 'refreshPlaces', encoding: 'json' }).drop();
    await live.root.close();

    const after = openedMonitoring(folder.path, deps);
    const wallet = after.service.wallet('a', id);
    const answer = walletAnswer(wallet);
    expect(answer).toMatchObject({ riskScore: 0, assessed: false, coverage: null });
    expect(answer.screenedAt).toBe(answer.createdAt);
    screenings.score = [80, 'CRITICAL'];
    after.start({ follows: true, sends: false, bills: false });
    await expect.poll(() => after.service.wallet('a', id).riskScore, SOON).toBe(80);
    await after.close();
    folder.remove();
  });
});

describe.skipIf(!hasRedis)('two nodes that share a Redis', () => {
  let server: RedisServer;
  let clock: MovedClock;
  const ends: (() => Promise<void> | void)[] = [];
  beforeEach(async () => {
    server = await startRedis();
    clock = new MovedClock();
  });
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
    await server.stop();
  });

  async function node(
    name: string,
    dutyOf?: (chains: readonly MonitoringChain[]) => ReadonlyMap<MonitoringChain, Duty>,
  ): Promise<{ monitoring: Monitoring; screenings: Screenings }> {
    const folder = memoryFolder();
    const state = replicatedState(server, 'refresh');
    const redis: RedisStore = openRedis(parseRedisUrl(state.url), { log: silentLogger });
    const leases = createRedisLeases({ nodeId: name }, { redis, clock: systemClock, log: silentLogger });
    const screenings = new Screenings(clock);
    const monitoring = openedMonitoring(folder.path, {
      clock,
      screen: screenings.screen,
      openStore: state.openStore,
      leases,
      ...(dutyOf === undefined ? {} : { dutyOf }),
    });
    ends.push(async () => {
      await monitoring.close();
      await redis.close();
      await state.close();
      folder.remove();
    });
    await state.ready();
    return { monitoring, screenings };
  }

  const duty = (of: Duty | null) => (chains: readonly MonitoringChain[]) =>
    new Map(of === null ? [] : chains.map((chain) => [chain, of]));

  it.each([
    ['the one that follows the chain', 'OTHERS', 'MINE'],
    ['one of them, if none follows the chain', null, null],
  ] as const)('screen each due wallet once, on %s', async (_, ofNear, ofFar) => {
    const [near, far] = [await node('near', duty(ofNear)), await node('far', duty(ofFar))];
    const wallets: MonitoredWallet[] = [];
    for (let n = 1; n <= 12; n++)
      wallets.push(await near.monitoring.service.register('a', { walletAddress: address(n), chain: 'ETH' }));
    for (const { screenings } of [near, far]) {
      screenings.asked.length = 0;
      screenings.score = [80, 'CRITICAL'];
    }
    clock.aheadMs = DAY_MS + 60_000;
    for (const { monitoring } of [near, far]) monitoring.start({ follows: true, sends: false, bills: false });
    for (const { monitoring } of [near, far])
      await expect
        .poll(() => wallets.map(({ id }) => monitoring.service.wallet('a', id).riskScore), SOON)
        .toEqual(wallets.map(() => 80));
    await sleep(3 * MONITORING_LIMITS.walletRefreshLookMs);
    const asked = [...near.screenings.asked, ...far.screenings.asked].sort();
    expect(asked).toEqual(wallets.map(({ walletAddress }) => walletAddress).sort());
    if (ofNear === 'OTHERS') expect(near.screenings.asked).toEqual([]);
  });
});
