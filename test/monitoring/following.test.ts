/** Whether a chain is followed, on every answer that shows it: the wallet, the lists, readiness and metrics, on one node and on two. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { metricsOf, readinessOf, type ServerStatus } from '../../src/app/status.ts';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ChainAdapter, ChainEvent, FollowFrom } from '../../src/chains/families/port.ts';
import { followedWallet, followedWalletText } from '../../src/monitoring/answers.ts';
import { MONITORING_LIMITS } from '../../src/monitoring/limits.ts';
import type { Duty } from '../../src/monitoring/listener.ts';
import type { Monitoring, MonitoringDeps } from '../../src/monitoring/open.ts';
import type { MonitoredWallet, MonitoringChain } from '../../src/monitoring/records.ts';
import type { MonitoringStore } from '../../src/monitoring/store.ts';
import { openMonitoringStore } from '../../src/monitoring/store-lmdb.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { createRedisLeases } from '../../src/state/leases-redis.ts';
import { openRedis, parseRedisUrl } from '../../src/state/redis.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { replicatedState } from '../setup/live-state.ts';
import { hasRedis, startRedis } from '../setup/redis.ts';
import { openedMonitoring } from './opened.ts';

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;

/** A chain whose node the test controls. */
function fakeChain() {
  const state = { from: null as FollowFrom | null, emit: (_event: ChainEvent): void => {}, headFails: false };
  const adapter = {
    head: async () => {
      if (state.headFails)
        throw new AssayError('CHAIN_UNREACHABLE', 'https://secret.example.org/key: refused.');
      return { height: 9, hash: '0x9' };
    },
    async *subscribe(from: FollowFrom, { signal }: { signal: AbortSignal }) {
      state.from = from;
      const queue: ChainEvent[] = [];
      let wake = (): void => {};
      state.emit = (event) => {
        queue.push(event);
        wake();
      };
      signal.addEventListener('abort', () => wake());
      while (!signal.aborted) {
        const event = queue.shift();
        if (event !== undefined) yield event;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  } as unknown as ChainAdapter;
  const block = (height: number): ChainEvent => ({
    type: 'block',
    completeness: { status: 'COMPLETE' } as never,
    block: {
      height,
      hash: `0x${height}`,
      parentHash: `0x${height - 1}`,
      timestampMs: height * 12_000,
      transfers: [],
    } as never,
  });
  return { state, adapter, block };
}

/** Readiness and metrics of a server with this monitoring. */
function statusOf(monitoring: Monitoring) {
  const status = {
    config: { readyNeedsFreshLists: false },
    roles: ['api'],
    clock: systemClock,
    labels: {
      current: {
        meta: { dataVersion: 'v', builtAt: '', real: { addresses: 0, labels: 0 }, synthetic: { labels: 0 } },
      },
    },
    freshness: () => ({ groups: {}, lists: {}, staleLists: [] }),
    stores: () => [],
    leases: () => [],
    redisProblem: () => null,
    replication: () => null,
    watching: () => monitoring,
    jobs: () => null,
    nodes: () => [],
    degradations: () => [],
    gasAccounts: () => null,
    pool: { pending: 0 },
  } as unknown as ServerStatus;
  const gauge = metricsOf(status).find(({ name }) => name === 'assay_monitoring_following');
  return {
    ready: readinessOf(status).monitoring ?? [],
    metric: Object.fromEntries((gauge?.value() as ReadonlyMap<string, number>) ?? []),
  };
}

describe('a watched chain', () => {
  let folder: TempFolder;
  let monitoring: Monitoring;
  let nowMs: number;
  beforeEach(() => {
    folder = memoryFolder();
    nowMs = Date.now();
  });
  afterEach(async () => {
    await monitoring.close();
    folder.remove();
  });

  const open = (deps: Partial<MonitoringDeps>): Monitoring => {
    monitoring = openedMonitoring(folder.path, {
      clock: { now: () => nowMs, monotonic: () => nowMs },
      ...deps,
    });
    monitoring.start();
    return monitoring;
  };
  const shown = (wallet: MonitoredWallet) =>
    followedWallet(wallet, monitoring.service.following(wallet.chain));
  const buy = async (chain: MonitoringChain) => {
    const { body } = await monitoring.service.buy(
      'a',
      { walletAddress: address(1), chain },
      { type: 'SCREENING', amount: 1, reference: null, keep: null, ignored: null },
      () => {},
    );
    return JSON.parse(Buffer.from(body).toString()).wallet;
  };
  const walletOf = (id: string): MonitoredWallet => monitoring.service.wallet('a', id);
  /** Everything that shows the chain, which must agree. */
  function everywhere(wallet: MonitoredWallet) {
    const { ready, metric } = statusOf(monitoring);
    const { following, followedTo, reason } = shown(wallet);
    const listed = JSON.parse(followedWalletText(wallet, monitoring.service.following(wallet.chain)));
    expect(listed).toEqual(JSON.parse(JSON.stringify(shown(wallet))));
    expect(ready.map(({ chain, following, reason }) => [chain, following, reason])).toEqual([
      [wallet.chain, following, reason],
    ]);
    expect(metric).toEqual({ [wallet.chain]: following ? 1 : 0 });
    expect(monitoring.service.notFollowed('a')).toEqual(
      following ? [] : [{ chain: wallet.chain, followedTo, reason }],
    );
    expect(monitoring.service.notFollowed('a', 'GNOSIS')).toEqual([]);
    expect(monitoring.service.notFollowed('b')).toEqual([]);
    return { following, followedTo, reason };
  }

  it('without a node is accepted, and shown as not followed with the reason', async () => {
    open({ dutyOf: () => new Map() });
    const answered = await buy('FANTOM');
    const reason = 'No node of FANTOM is configured, so transfers on this chain are not seen.';
    expect(answered).toMatchObject({ status: 'ACTIVE', following: false, followedTo: null, reason });
    expect(everywhere(walletOf(answered.id))).toEqual({ following: false, followedTo: null, reason });
  });

  it('whose adapter has no endpoint is shown in the same way', async () => {
    open({});
    const { id } = await buy('FANTOM');
    await expect.poll(() => shown(walletOf(id)).reason).toMatch(/^No node of FANTOM is configured/);
    expect(everywhere(walletOf(id)).following).toBe(false);
  });

  it('is followed, breaks, recovers and stalls, and every answer says so', async () => {
    const chain = fakeChain();
    open({ adapter: async () => chain.adapter });
    const { id, ...answered } = await buy('ETH');
    expect(answered).toMatchObject({ following: true, reason: null });
    await expect.poll(() => chain.state.from).not.toBeNull();
    chain.state.emit(chain.block(10));
    await expect.poll(() => shown(walletOf(id)).followedTo).toBe(10);
    expect(everywhere(walletOf(id))).toEqual({ following: true, followedTo: 10, reason: null });
    chain.state.from?.onFault?.(
      new AssayError('CHAIN_UNREACHABLE', 'https://secret.example.org/key: refused.'),
    );
    const broken = everywhere(walletOf(id));
    expect(broken).toMatchObject({ following: false, followedTo: 10 });
    expect(broken.reason).toMatch(/^The node of ETH cannot be read\./);
    expect(broken.reason).not.toContain('secret');
    chain.state.from?.onFault?.(null);
    expect(everywhere(walletOf(id))).toEqual({ following: true, followedTo: 10, reason: null });
    const lastMs = nowMs;
    nowMs += MONITORING_LIMITS.followStallMs;
    expect(shown(walletOf(id)).following).toBe(true);
    nowMs += 1;
    expect(everywhere(walletOf(id)).reason).toBe(
      `The node of ETH has not returned a new block since ${new Date(lastMs).toISOString()}.`,
    );
    chain.state.emit(chain.block(11));
    await expect.poll(() => shown(walletOf(id)).following).toBe(true);
    const paused = await monitoring.service.change('a', id, { status: 'PAUSED' });
    expect(shown(paused)).toMatchObject({
      following: false,
      followedTo: 11,
      reason: 'The wallet is paused, so its transfers are ignored.',
    });
    // A paused wallet is not in the list of chains without alerts.
    expect(monitoring.service.notFollowed('a')).toEqual([]);
  });

  it('is left by a deleted wallet until it is restored, and only a deleted wallet can be', async () => {
    open({});
    const { id } = await buy('ETH');
    const change = (fields: object) => monitoring.service.change('a', id, fields);
    const restore = { action: 'restore' } as const;
    const refusal = { code: 'INVALID_REQUEST', field: 'action' };
    await expect(change(restore)).rejects.toMatchObject(refusal);
    await change({ status: 'PAUSED' });
    await expect(change(restore)).rejects.toMatchObject(refusal);
    expect(walletOf(id).status).toBe('PAUSED');
    await monitoring.service.remove('a', id);
    await expect(change({ label: 'x' })).rejects.toMatchObject({ code: 'INVALID_REQUEST', field: 'id' });
    expect(await change({ ...restore, label: 'x' })).toMatchObject({
      ...{ status: 'ACTIVE', deletedAtMs: null, label: 'x' },
    });
  });

  it('whose node does not respond when the wallet is added says so in the response', async () => {
    const chain = fakeChain();
    chain.state.headFails = true;
    open({ adapter: async () => chain.adapter });
    const { following, reason } = await buy('ETH');
    expect([following, reason]).toEqual([
      false,
      'The node of ETH did not respond. Transfers are seen as soon as it does.',
    ]);
  });
});

/** The class of the store, whose methods all nodes of this process share. */
function storePrototype(): MonitoringStore {
  const folder = memoryFolder();
  const encryption = createEncryption(new Uint8Array(32), systemRandom);
  const store = openMonitoringStore(
    { path: `${folder.path}/monitoring.lmdb` },
    { clock: systemClock, random: systemRandom, encryption },
  );
  void store.close().then(() => folder.remove());
  return Object.getPrototypeOf(store) as MonitoringStore;
}

describe.skipIf(!hasRedis)('a chain that another node follows', () => {
  it('is shown as broken by every node while its follower cannot read it', async () => {
    const server = await startRedis();
    const folders = [memoryFolder(), memoryFolder()];
    const chain = fakeChain();
    const closing: (() => Promise<void>)[] = [];
    const warnings: string[] = [];
    const log = {
      ...silentLogger,
      warn: (_: unknown, text: string) => void warnings.push(text),
    } as unknown as Logger;
    /** What the follower announces to other nodes. */
    const failing: string[] = [];
    let aheadMs = 0;
    async function node(at: number, duty: Duty): Promise<Monitoring> {
      const state = replicatedState(server, 'following');
      const redis = openRedis(parseRedisUrl(`${server.url}?prefix=following`), { log: silentLogger });
      const deps = { redis, clock: systemClock, random: systemRandom, log: silentLogger };
      const leases = createRedisLeases(
        { nodeId: `n${at}`, scope: 'following', isUsable: () => true },
        deps as never,
      );
      const opened = openedMonitoring((folders[at] as TempFolder).path, {
        openStore: state.openStore,
        leases,
        log,
        adapter: async () => chain.adapter,
        dutyOf: () => new Map([['ETH', duty]]),
        clock: { now: systemClock.now, monotonic: () => systemClock.monotonic() + aheadMs },
        ...(duty === 'MINE' ? { onFailing: (chains) => failing.push(chains.join()) } : {}),
      });
      await state.ready();
      closing.push(async () => {
        await opened.close();
        await redis.close();
        await state.close();
      });
      return opened;
    }
    try {
      const follower = await node(0, 'MINE');
      const other = await node(1, 'OTHERS');
      follower.start({ follows: true, sends: false, bills: false });
      const { id } = await other.service.register('a', { walletAddress: address(1), chain: 'ETH' });
      await expect.poll(() => chain.state.from).not.toBeNull();
      const seen = (): unknown => [other, follower].map(({ service }) => service.following('ETH').following);
      chain.state.emit(chain.block(10));
      await expect.poll(() => other.service.following('ETH').followedTo).toBe(10);
      expect(seen()).toEqual([true, true]);
      chain.state.from?.onFault?.(new AssayError('CHAIN_UNREACHABLE', 'refused'));
      await expect.poll(seen).toEqual([false, false]);
      // The other node serves requests only, and shows the chain all the same.
      expect(statusOf(other).ready).toMatchObject([{ chain: 'ETH', state: 'STANDBY', following: false }]);
      expect(statusOf(other).metric).toEqual({ ETH: 0 });
      expect(other.service.notFollowed('a')).toMatchObject([{ chain: 'ETH', followedTo: 10 }]);
      expect(other.service.wallet('a', id).status).toBe('ACTIVE');
      expect(failing).toEqual([]);
      aheadMs = 20_000;
      await expect.poll(() => failing).toEqual(['ETH']);
      chain.state.from?.onFault?.(null);
      await expect.poll(seen).toEqual([true, true]);
      await expect.poll(() => failing).toEqual(['ETH', '']);
      // While it cannot be stored, each check tries again, and the log has one line.
      const storing = vi.spyOn(storePrototype(), 'reportFollowing');
      storing.mockRejectedValue(new AssayError('NOT_READY', 'Redis rejects writes.'));
      chain.state.from?.onFault?.(new AssayError('CHAIN_UNREACHABLE', 'refused'));
      await expect.poll(() => storing.mock.calls.length, { timeout: 10_000 }).toBeGreaterThan(2);
      storing.mockRestore();
      await expect.poll(seen).toEqual([false, false]);
      expect(warnings.filter((text) => text === 'state of a followed chain not stored')).toHaveLength(1);
    } finally {
      for (const close of closing) await close();
      await server.stop();
      for (const folder of folders) folder.remove();
    }
  });
});
