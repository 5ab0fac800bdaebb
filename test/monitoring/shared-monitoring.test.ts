/**
 * Monitoring on two nodes that share a Redis: the writes of one node are announced once by the other, and a former lease holder cannot
 * write.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ReceiverQueue } from '../../src/monitoring/delivery/receiver-queues.ts';
import type { MonitoredWallet } from '../../src/monitoring/records.ts';
import type { AlertDraft, MonitoringChange, MonitoringStore } from '../../src/monitoring/store.ts';
import { openMonitoringStore } from '../../src/monitoring/store-lmdb.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { type LiveState, replicatedState } from '../setup/live-state.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { startProxy, type TcpProxy } from '../setup/tcp-proxy.ts';

const encryption = createEncryption(new Uint8Array(32), systemRandom);
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
const draft = (n: number) => ({
  accountId: 'a',
  chain: 'ETH' as const,
  walletAddress: `0x${n.toString(16).padStart(40, '0')}`,
  label: null,
  riskScore: null,
  riskLevel: null,
  enabledRules: ['SANCTIONS-001' as const],
  customWebhookUrl: 'https://hooks.example.org/',
  alertThreshold: 'all' as const,
  alertFrequency: 'realtime' as const,
  notes: null,
  watchFromHeight: null,
});

interface Node {
  readonly state: LiveState;
  readonly store: MonitoringStore;
  readonly told: MonitoringChange[];
  readonly woken: ReceiverQueue[];
  close(): Promise<void>;
}

async function openNode(url: string, nodeEncryption = encryption): Promise<Node> {
  const folder = tempFolder();
  const state = replicatedState({ url }, 'watch');
  const store = openMonitoringStore(
    { path: `${folder.path}/monitoring.lmdb` },
    { clock: systemClock, random: systemRandom, encryption: nodeEncryption, openStore: state.openStore },
  );
  const told: MonitoringChange[] = [];
  const woken: ReceiverQueue[] = [];
  store.onChange((change) => told.push(change));
  store.outbox.onWake((queues) => woken.push(...queues));
  await state.ready();
  return {
    state,
    store,
    told,
    woken,
    async close() {
      await store.close();
      await state.close();
      folder.remove();
    },
  };
}

describe.skipIf(!hasRedis)('two nodes that watch', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  let near: Node;
  let far: Node;
  beforeEach(async () => {
    server = await startRedis();
    proxy = await startProxy(server.port);
    [near, far] = await Promise.all([openNode(server.url), openNode(`redis://127.0.0.1:${proxy.port}`)]);
  });
  afterEach(async () => {
    await Promise.all([near.close(), far.close()]);
    await proxy.close();
    await server.stop();
  });

  const block = (node: Node, wallet: MonitoredWallet, height: number, token: number | null = null) =>
    node.store.applyBlock(
      'ETH',
      { height, hash: `b${height}` },
      (writer) => void writer.raise(wallet, FINDING, `block ${height}`, null),
      token === null ? null : { name: 'listener:ETH', token },
    );
  const tellings = (node: Node) => node.told.map(({ kind, number }) => [kind, number]);

  it('report every change once on both nodes, in order, also after a gap', async () => {
    const wallet = await near.store.addWallet(draft(1), 10);
    await block(near, wallet, 1);
    await expect.poll(() => far.told).toEqual(near.told);
    expect(near.told.map(({ kind }) => kind)).toEqual(['wallet.created', 'alert.created']);
    proxy.cut();
    await block(near, wallet, 2);
    await near.store.addWallet(draft(2), 10);
    proxy.heal();
    const wanted = [
      ['wallet.created', 1],
      ['alert.created', 2],
      ['alert.created', 3],
      ['wallet.created', 4],
    ];
    await expect.poll(() => tellings(far)).toEqual(wanted);
    expect(tellings(near)).toEqual(wanted);
    const alert = far.store.alerts('a', {}, { limit: 1, offset: 0 }).alerts[0];
    await far.store.changeAlert('a', alert?.id ?? '', { status: 'RESOLVED' }, 'key_1');
    await expect.poll(() => tellings(near).at(-1)).toEqual(['alert.updated', 5]);
    expect(tellings(far).filter(([, number]) => number === 5)).toHaveLength(1);
  });

  it('wake the dispatcher for deliveries that another node stored', async () => {
    const wallet = await near.store.addWallet(draft(1), 10);
    far.woken.length = 0;
    await block(near, wallet, 1);
    await expect.poll(() => far.woken).toEqual(near.store.outbox.queues());
    expect(far.store.outbox.waitingCount()).toBe(1);
  });

  it('share the watched addresses', async () => {
    const before = far.store.generation();
    const wallet = await near.store.addWallet(draft(1), 10);
    await expect.poll(() => far.store.generation()).toBe(before + 1);
    expect(far.store.watchChanges(before)).toMatchObject([{ walletId: wallet.id, isActive: true }]);
    expect(far.store.wallets('a', { includeDeleted: false }, { limit: 10, offset: 0 }).total).toBe(1);
    // The same address of the same account, on both nodes at once.
    const both = await Promise.allSettled([near, far].map(({ store }) => store.addWallet(draft(2), 10)));
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('detect whether the secrets of the other node can be decrypted', async () => {
    expect(await near.store.channels.opensHere()).toBe(true);
    expect(await far.store.channels.opensHere()).toBe(true);
    const stranger = await openNode(server.url, createEncryption(new Uint8Array(32).fill(1), systemRandom));
    expect(await stranger.store.channels.opensHere()).toBe(false);
    await stranger.close();
  });

  it('reject a block of a previous lease holder, and keep the checkpoint', async () => {
    const wallet = await near.store.addWallet(draft(1), 10);
    server.run('set', 'watch:{monitoring}:fence:listener:ETH', '7');
    await block(near, wallet, 1, 7);
    server.run('set', 'watch:{monitoring}:fence:listener:ETH', '8');
    await expect(block(near, wallet, 2, 7)).rejects.toMatchObject({ code: 'STORE_BUSY' });
    await block(far, wallet, 2, 8);
    await expect.poll(() => near.store.blocks('ETH')).toEqual(far.store.blocks('ETH'));
    expect(near.store.alerts('a', {}, { limit: 9, offset: 0 }).total).toBe(2);
    // The other node has already read this block.
    await block(near, wallet, 2, 8);
    expect(near.store.alerts('a', {}, { limit: 9, offset: 0 }).total).toBe(2);
  });

  it('drop results that were derived from a history that Redis has lost', async () => {
    await near.store.addWallet(draft(1), 10);
    await expect.poll(() => far.store.isWatched('ETH')).toBe(true);
    const parts = ['head', 'data', 'stream'].map((part) => `watch:{monitoring}:${part}`);
    for (const key of parts) server.run('copy', key, `${key}:kept`);
    await near.store.addWallet(draft(2), 10);
    await expect.poll(() => far.store.watchChanges(1)?.length).toBe(1);
    const list = ({ store }: Node) =>
      store.wallets('a', { includeDeleted: false }, { limit: 10, offset: 0 }).wallets;
    expect([list(near), list(far)].map((wallets) => wallets.length)).toEqual([2, 2]);
    const generation = far.store.generation();
    for (const key of parts) server.run('copy', `${key}:kept`, key, 'replace');
    await expect.poll(() => [near, far].map((node) => node.store.isWatched('ETH'))).toEqual([true, true]);
    await expect
      .poll(() =>
        near.store.addWallet(draft(3), 10).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await expect
      .poll(() => [near, far].map((node) => list(node).map(({ walletAddress }) => walletAddress)))
      .toEqual(
        Array.from({ length: 2 }, () => [draft(1), draft(3)].map(({ walletAddress }) => walletAddress)),
      );
    expect(far.store.watchChanges(generation)).toBeNull();
  });
});
