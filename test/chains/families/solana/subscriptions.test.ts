/**
 * The WebSocket of a Solana node: slots for following the chain, and logs for addresses with a fetched history. It needs a process of its own,
 * because the official library must find its WebSocket client when it is loaded first.
 */
import '../../../setup/solana-connection.ts';

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection, Keypair, type Logs, SystemProgram } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../../src/base/log.ts';
import { openAdapter } from '../../../../src/chains/families/solana/adapter.ts';
import { openFetchedStore } from '../../../../src/screening/fetched-store.ts';
import { createOnDemand } from '../../../../src/screening/on-demand.ts';
import { openFor, within } from '../../../conformance/adapter.ts';
import { startSocketCutter } from '../../../setup/socket-cutter.ts';
import { until } from '../../../support/wait.ts';
import type { Loose } from '../stand-in.ts';
import { startRuntime } from './runtime.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'json-rpc' } };
const addressOf = (keys: Keypair): string => keys.publicKey.toBase58();

/** Three accounts, the first with coins, and a function that pays from it; each payment makes a block. */
async function makeWorld() {
  const runtime = await startRuntime();
  const cutter = await startSocketCutter(runtime.notices.url.replace('ws', 'http'));
  const [alice, bob, carol] = [Keypair.generate(), Keypair.generate(), Keypair.generate()] as const;
  runtime.svm.airdrop(addressOf(alice) as Loose, 100_000_000_000n as Loose);
  const pay = (to: Keypair, lamports = 1_000_000): boolean =>
    runtime.run(
      alice,
      [],
      [SystemProgram.transfer({ fromPubkey: alice.publicKey, toPubkey: to.publicKey, lamports })],
    );
  pay(bob);
  return {
    ...runtime,
    cutter,
    alice,
    bob,
    carol,
    pay,
    adapter: openFor(family, 'SOL', { rpc: [runtime.url, cutter.socketUrl] }),
    async close() {
      await cutter.close();
      await runtime.close();
    },
  };
}

describe('notices of a Solana node over its WebSocket', () => {
  it('match those of the official library', async () => {
    const { url, notices, alice, bob, pay, close, adapter } = await makeWorld();
    const connection = new Connection(url, { wsEndpoint: notices.url, commitment: 'confirmed' });
    const heard: [Logs, number][] = [];
    const subscription = connection.onLogs(bob.publicKey, (logs, { slot }) => heard.push([logs, slot]));
    await until(() => notices.subscriptions.size === 1);
    pay(alice);
    pay(bob);
    await until(() => heard.length > 0);
    await connection.removeOnLogsListener(subscription);
    // The library keeps an idle connection open for half a second.
    await until(() => notices.connections() === 0);
    expect(heard).toMatchObject([[{ err: null, logs: expect.arrayContaining([expect.any(String)]) }, 1_002]]);
    await adapter.close();
    await close();
  });

  it('deliver blocks at once; after a cut, missed blocks arrive once each, without requests over the socket', async () => {
    const { cutter, notices, first, bob, pay, close, adapter } = await makeWorld();
    const ending = new AbortController();
    const slots: number[] = [];
    const following = (async () => {
      const call = within(5_000, ending.signal);
      for await (const event of adapter.subscribe({ fromHeight: first, known: [] }, call))
        if (event.type === 'block') slots.push(event.block.height);
    })();
    await until(() => slots.length === 1 && notices.subscriptions.size === 1);
    // Polling for blocks without notices would take five seconds each.
    for (let n = 2; n <= 8; n++) {
      pay(bob);
      await until(() => slots.length === n);
    }
    for (let n = 9; n <= 13; n += 2) {
      const { length } = notices.requests;
      cutter.cut();
      pay(bob);
      pay(bob);
      await until(() => notices.requests.length > length && slots.length === n + 1);
    }
    expect(slots).toEqual(Array.from({ length: 14 }, (_, index) => first + index));
    ending.abort();
    await following;
    await until(() => notices.requests.at(-1) === 'slotUnsubscribe');
    expect(new Set(notices.requests)).toEqual(new Set(['slotSubscribe', 'slotUnsubscribe']));
    await adapter.close();
    await close();
  });

  it('name active addresses, and after a cut all that may have been', async () => {
    const { cutter, notices, alice, bob, carol, pay, close, adapter } = await makeWorld();
    const news = { alice: 0, bob: 0 };
    const ends = [
      adapter.onActivity!(addressOf(alice), () => void news.alice++),
      adapter.onActivity!(addressOf(bob), () => void news.bob++),
    ];
    await until(() => news.alice === 1 && news.bob === 1);
    pay(carol);
    await until(() => news.alice === 2);
    pay(bob);
    await until(() => news.alice === 3 && news.bob === 2);
    cutter.cut();
    await until(() => news.alice === 4 && news.bob === 3);
    pay(bob);
    await until(() => news.alice === 5 && news.bob === 4);
    ends[1]!();
    await until(() => notices.subscriptions.size === 1);
    pay(bob);
    await until(() => news.alice === 6);
    expect(news.bob).toBe(4);
    ends[0]!();
    await until(() => notices.subscriptions.size === 0);
    await adapter.close();
    await close();
  });

  it('make a screening read the history of an address again once it is active', async () => {
    const { cutter, notices, requests, bob, pay, close, adapter } = await makeWorld();
    const folder = mkdtempSync(join(tmpdir(), 'assay-solana-news-'));
    const ingested = new Set<string>();
    const fetched = openFetchedStore({ path: join(folder, 'fetched.lmdb') });
    let now = Date.UTC(2026, 5, 1);
    const source = createOnDemand(
      { budgetMs: 5_000, maxAgeMs: 600_000 },
      {
        chains: { of: () => Promise.resolve(adapter), isConfigured: () => true },
        ingest: async (transfers) => {
          for (const { txHash, position } of transfers) ingested.add(`${txHash} ${position}`);
        },
        fetched,
        prices: { usdAt: () => null },
        clock: { now: () => now++, monotonic: () => performance.now() },
        log: silentLogger,
      },
    );
    const known = async (): Promise<number> => {
      await source.historyOf('SOL', addressOf(bob));
      return ingested.size;
    };
    const historyRequests = (): number =>
      requests.filter(({ body }) => body.method === 'getSignaturesForAddress').length;
    expect(await known()).toBe(1);
    await until(() => notices.subscriptions.size === 1);
    // One more request, because the address may have been active before the subscription began; after that none without a notice.
    await until(() => notices.requests.includes('logsSubscribe'));
    await known();
    await known();
    const before = historyRequests();
    expect(await known()).toBe(1);
    expect(historyRequests()).toBe(before);
    pay(bob);
    await until(async () => (await known()) === 2);
    // A payment that arrived during the disconnection is found too.
    cutter.cut();
    await until(() => notices.subscriptions.size === 0);
    pay(bob);
    await until(async () => (await known()) === 3);
    await source.close();
    await adapter.close();
    rmSync(folder, { recursive: true, force: true });
    await close();
  });
});
