/** Chains that are read during a screening: fetched once, cached, within the budget, and without failing the screening. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Call, ChainAdapter, HistoryPage, HistoryQuery } from '../../src/chains/families/port.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import type { UtxoTransaction } from '../../src/chains/utxo-transaction.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { type FetchedStore, openFetchedStore } from '../../src/screening/fetched-store.ts';
import { createOnDemand, historyFacts, type OnDemand } from '../../src/screening/on-demand.ts';
import { sleep } from '../support/wait.ts';

const ADDRESS = parseAddress('ETH', '0x00000000219ab540356cbb839cbe05303d7705fa').canonical;
const { key } = parseAddress('ETH', ADDRESS);
const OTHER = parseAddress('ETH', '0x1111111111111111111111111111111111111111').canonical;

const transfer = (height: number, more: Partial<Transfer> = {}): Transfer => ({
  chain: 'ETH',
  txHash: `0x${(height + 1).toString(16).padStart(64, '0')}`,
  position: 'value',
  blockNumber: height,
  timestampMs: Date.UTC(2026, 0, 1) + height * 12_000,
  from: OTHER,
  to: ADDRESS,
  asset: 'ETH',
  amount: 10n ** 18n,
  decimals: 18,
  valueUsd: null,
  ...more,
});

/** A stub of a chain with ten transfers per history page, whose behaviour the test sets. */
class Chain {
  transfers: Transfer[] = Array.from({ length: 35 }, (_, height) => transfer(height));
  pages = 0;
  balances = 0;
  waitMs = 0;
  fault: (() => AssayError) | null = null;
  page: ((query: HistoryQuery) => Partial<HistoryPage>) | null = null;
  /** If not null, the node of the chain announces activity of addresses: callbacks by address. */
  watchers: Map<string, () => void> | null = null;

  async #answer(call: Call): Promise<void> {
    const ms = Math.min(this.waitMs, call.budgetMs);
    await sleep(ms);
    if (this.waitMs > call.budgetMs) throw new AssayError('CHAIN_TIMEOUT', 'too slow');
    if (this.fault !== null) throw this.fault();
  }

  adapter(chain: ChainId): ChainAdapter {
    const provenance = { source: 'sim x', height: 35, completeness: 'COMPLETE', note: null } as const;
    return {
      chain,
      balance: async (_, call) => {
        this.balances++;
        await this.#answer(call);
        return { ...provenance, balance: 2_500_000_000_000_000_000n };
      },
      history: async (_, query, call) => {
        this.pages++;
        await this.#answer(call);
        const top = query.cursor === null ? (query.to ?? 1e9) : Number(query.cursor);
        const rows = this.transfers
          .filter((row) => row.blockNumber <= top && row.blockNumber >= (query.from ?? 0))
          .toSorted((a, b) => b.blockNumber - a.blockNumber);
        const part = rows.slice(0, 10);
        const nextCursor = rows.length > 10 ? String(rows[10]!.blockNumber) : null;
        return { ...provenance, transfers: part, nextCursor, ...this.page?.(query) };
      },
      onActivity:
        this.watchers === null
          ? null
          : (address, onActivity) => {
              this.watchers?.set(address, onActivity);
              return () => void this.watchers?.delete(address);
            },
      resolveName: async (name, call) => {
        await this.#answer(call);
        return { ...provenance, address: name === 'alice.eth' ? OTHER : null };
      },
    } as ChainAdapter;
  }
}

describe('on-demand reading', () => {
  let folder: string;
  let store: TransferStore;
  let fetched: FetchedStore;
  let chain: Chain;
  let now: number;
  let configured: ChainId[];
  let source: OnDemand;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-on-demand-'));
    store = openTransferStore({ path: join(folder, 'transfers'), readOnly: false });
    fetched = openFetchedStore({ path: join(folder, 'fetched.lmdb') });
    chain = new Chain();
    now = Date.UTC(2026, 5, 1);
    configured = ['ETH'];
    source = open(2_500);
  });
  afterEach(async () => {
    await source.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (budgetMs: number): OnDemand =>
    createOnDemand(
      { budgetMs, maxAgeMs: 600_000 },
      {
        chains: {
          of: async (id) => chain.adapter(id),
          isConfigured: (id) => configured.includes(id),
        },
        ingest: (transfers) => store.ingest(transfers),
        fetched,
        prices: { usdAt: () => ({ usd: 2_000, atMs: 0, status: 'EXACT', source: 'own' }) },
        clock: { now: () => now, monotonic: () => performance.now() },
        log: silentLogger,
      },
    );
  const stored = (): number => store.totals('ETH', key)?.in.transfers ?? 0;

  it('fetches the history of an unknown address, with values, and caches it', async () => {
    expect(await source.historyOf('ETH', ADDRESS)).toEqual({
      status: 'COMPLETE',
      asOf: '2026-06-01T00:00:00.000Z',
    });
    expect(stored()).toBe(35);
    expect(store.totals('ETH', key)?.in.valueUsd).toBe(70_000);
    const { pages } = chain;
    now += 60_000;
    expect((await source.historyOf('ETH', ADDRESS)).asOf).toBe('2026-06-01T00:00:00.000Z');
    expect(chain.pages).toBe(pages);
  });

  it('is fresh for less than its maximum age, in both directions of the clock', async () => {
    const maxAgeMs = 600_000;
    const isReadAgain = async (laterMs: number): Promise<boolean> => {
      now += 10 * maxAgeMs;
      await source.historyOf('ETH', ADDRESS);
      const { pages } = chain;
      now += laterMs;
      await source.historyOf('ETH', ADDRESS);
      return chain.pages > pages;
    };
    expect(await isReadAgain(maxAgeMs - 1)).toBe(false);
    expect(await isReadAgain(maxAgeMs)).toBe(true);
    expect(await isReadAgain(1 - maxAgeMs)).toBe(false);
    expect(await isReadAgain(-maxAgeMs)).toBe(true);
  });

  it('reads only new transfers once it is stale', async () => {
    await source.historyOf('ETH', ADDRESS);
    chain.transfers.push(transfer(35), transfer(36));
    chain.pages = 0;
    now += 700_000;
    expect(await source.historyOf('ETH', ADDRESS)).toMatchObject({ status: 'COMPLETE' });
    expect(chain.pages).toBe(1);
    expect(stored()).toBe(37);
  });

  it('reads again if the cached time is in the future, because the clock moved backwards', async () => {
    await source.historyOf('ETH', ADDRESS);
    const { pages } = chain;
    now -= 599_000;
    await source.historyOf('ETH', ADDRESS);
    expect(chain.pages).toBe(pages);
    now -= 2_000;
    expect(await source.historyOf('ETH', ADDRESS)).toEqual({ status: 'COMPLETE', asOf: isoTime(now) });
    expect(chain.pages).toBeGreaterThan(pages);
  });

  it('reads a recent history again only if a node announces activity of its address', async () => {
    chain.watchers = new Map();
    await source.historyOf('ETH', ADDRESS);
    await source.historyOf('ETH', OTHER);
    chain.pages = 0;
    chain.transfers.push(transfer(35));
    now += 1_000;
    chain.watchers.get(ADDRESS)!();
    const coverage = await source.historyOf('ETH', ADDRESS);
    expect(coverage).toEqual({ status: 'COMPLETE', asOf: '2026-06-01T00:00:01.000Z' });
    expect(stored()).toBe(36);
    await source.historyOf('ETH', ADDRESS);
    await source.historyOf('ETH', OTHER);
    expect(chain.pages).toBe(1);
  });

  it('reports PARTIAL while announced activity cannot be read, and reads it as soon as possible', async () => {
    chain.watchers = new Map();
    await source.historyOf('ETH', ADDRESS);
    now += 1_000;
    chain.watchers.get(ADDRESS)!();
    chain.fault = () => new AssayError('CHAIN_UNREACHABLE', 'down');
    const before = { status: 'PARTIAL', asOf: '2026-06-01T00:00:00.000Z' };
    expect(await source.historyOf('ETH', ADDRESS)).toEqual(before);
    expect(await source.historyOf('ETH', ADDRESS)).toEqual(before);
    chain.fault = null;
    expect(await source.historyOf('ETH', ADDRESS)).toMatchObject({ status: 'COMPLETE' });
  });

  it('watches addresses only for its lifetime, and at most as many as a node supports', async () => {
    chain.watchers = new Map();
    chain.transfers = [];
    await source.historyOf('ETH', ADDRESS);
    for (let n = 0; n < 1_000; n++)
      await source.historyOf(
        'ETH',
        parseAddress('ETH', `0x${(n + 1).toString(16).padStart(40, '0')}`).canonical,
      );
    expect(chain.watchers.size).toBe(1_000);
    expect(chain.watchers.has(ADDRESS)).toBe(false);
    await source.close();
    expect(chain.watchers.size).toBe(0);
    fetched = openFetchedStore({ path: join(folder, 'fetched.lmdb') });
    source = open(2_500);
  });

  it('shares one fetch between two requests for the same address', async () => {
    chain.waitMs = 20;
    const [first, second] = await Promise.all([
      source.historyOf('ETH', ADDRESS),
      source.historyOf('ETH', ADDRESS),
    ]);
    expect(first).toEqual(second);
    expect(chain.pages).toBe(4);
  });

  it('reads a long history newest first, reports PARTIAL, and continues later', async () => {
    // The second page does not come in time.
    chain.page = () => {
      chain.fault = () => new AssayError('CHAIN_TIMEOUT', 'too slow');
      return {};
    };
    expect(await source.historyOf('ETH', ADDRESS)).toMatchObject({ status: 'PARTIAL' });
    expect(stored()).toBe(10);
    expect(store.newest('ETH', parseAddress('ETH', OTHER).key, key, 1)[0]?.blockNumber).toBe(34);
    chain.page = null;
    chain.fault = null;
    chain.transfers.push(transfer(35));
    now += 700_000;
    expect(await source.historyOf('ETH', ADDRESS)).toMatchObject({ status: 'COMPLETE' });
    expect(stored()).toBe(36);
  });

  it('waits no longer than its budget, however slow the chain is', async () => {
    await source.close();
    fetched = openFetchedStore({ path: join(folder, 'fetched.lmdb') });
    source = open(200);
    chain.waitMs = 60_000;
    const startedAt = performance.now();
    const [history, balances] = await Promise.all([
      source.historyOf('ETH', ADDRESS),
      source.balancesOf('ETH', ADDRESS),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(chain.waitMs / 2);
    expect(history).toEqual({ status: 'NONE', asOf: null });
    expect(balances).toMatchObject({ status: 'NONE', asOf: null, chains: [{ chain: 'ETH', balance: null }] });
  });

  it('omits a chain that fails, and keeps earlier data with its age', async () => {
    await source.historyOf('ETH', ADDRESS);
    chain.fault = () => new AssayError('CHAIN_UNREACHABLE', 'nobody');
    now += 700_000;
    expect(await source.historyOf('ETH', ADDRESS)).toEqual({
      status: 'PARTIAL',
      asOf: '2026-06-01T00:00:00.000Z',
    });
    expect(await source.historyOf('ETH', OTHER)).toEqual({ status: 'NONE', asOf: null });
  });

  it('sends no request without an endpoint', async () => {
    configured = [];
    expect(await source.historyOf('ETH', ADDRESS)).toEqual({ status: 'NONE', asOf: null });
    expect(await source.balancesOf('ETH', ADDRESS)).toEqual({ status: 'NONE', asOf: null, chains: [] });
    expect(chain.pages + chain.balances).toBe(0);
  });

  it.each<[string, (query: HistoryQuery) => Partial<HistoryPage>]>([
    ['never ends', () => ({ nextCursor: '20' })],
    ['answers for another address', () => ({ transfers: [transfer(1, { to: OTHER })] })],
  ])('a source that %s is stopped', async (_, page) => {
    chain.page = page;
    expect((await source.historyOf('ETH', ADDRESS)).status).not.toBe('COMPLETE');
    expect(chain.pages).toBeLessThan(10);
  });

  it('ignores a transaction that does not name the address, unless an input is unknown', async () => {
    const own = parseAddress('BTC', '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2').canonical;
    const other = parseAddress('BTC', '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy').canonical;
    configured = ['BTC'];
    const output = (address: string) => ({ n: 0, address, value: 5n, script: 'p2pkh' as const });
    const input = (value: bigint | null, address: string | null) => ({
      txid: '22'.repeat(32),
      vout: 0,
      address,
      value,
    });
    const statusWith = async (known: UtxoTransaction['inputs'][number], to: string): Promise<string> => {
      now += 3_600_000;
      chain.page = () => ({
        transfers: [],
        transactions: [
          {
            chain: 'BTC',
            txid: '11'.repeat(32),
            blockNumber: 7,
            indexInBlock: 0,
            timestampMs: now,
            isCoinbase: false,
            inputs: [known],
            outputs: [output(to)],
          },
        ],
        nextCursor: null,
      });
      return (await source.historyOf('BTC', own)).status;
    };
    expect(await statusWith(input(6n, other), other)).toBe('NONE');
    expect(await statusWith(input(null, null), other)).toBe('COMPLETE');
    expect(await statusWith(input(6n, other), own)).toBe('COMPLETE');
    expect(await statusWith(input(6n, other), other)).toBe('PARTIAL');
  });

  it('does not treat pages without transfers as a complete history if the end was not reached in time', async () => {
    const empty = (query: HistoryQuery): Partial<HistoryPage> => {
      if (query.cursor !== null) chain.fault = () => new AssayError('CHAIN_TIMEOUT', 'too slow');
      return { transfers: [], nextCursor: String(Number(query.cursor ?? 9_000) - 1) };
    };
    chain.page = empty;
    expect(await source.historyOf('ETH', ADDRESS)).toMatchObject({ status: 'NONE' });
    chain.page = null;
    chain.fault = null;
    expect(await source.historyOf('ETH', ADDRESS)).toMatchObject({ status: 'COMPLETE' });
    // Such a reading does not complete an older history either.
    now += 3_600_000;
    chain.page = empty;
    expect(await source.historyOf('ETH', ADDRESS)).toMatchObject({ status: 'PARTIAL' });
  });

  it('reports PARTIAL if the source omits kinds of transfers', async () => {
    chain.page = () => ({ completeness: 'PARTIAL', note: 'Some are missing.' });
    expect(await source.historyOf('ETH', ADDRESS)).toMatchObject({ status: 'PARTIAL' });
  });

  it('returns balances of all chains that share the address, in USD if a price is known', async () => {
    configured = ['ETH', 'BSC', 'BTC'];
    const report = await source.balancesOf('ETH', ADDRESS);
    expect(report).toMatchObject({
      status: 'COMPLETE',
      chains: [
        { chain: 'ETH', balance: 2.5, balanceUsd: 5_000 },
        { chain: 'BSC', balance: 2.5, balanceUsd: 5_000 },
      ],
    });
    await source.balancesOf('ETH', ADDRESS);
    expect(chain.balances).toBe(2);
  });

  it('resolves names, or rejects the request with the reason', async () => {
    expect(await source.resolve('alice.eth')).toBe(OTHER);
    expect(await source.resolve('bob.eth')).toBeNull();
    chain.fault = () => new AssayError('CHAIN_UNREACHABLE', 'No endpoint of ETH is reachable.');
    await expect(source.resolve('alice.eth')).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('reachable'),
    });
  });

  it('reads the histories of both parties of a pair, and the lesser coverage decides', async () => {
    chain.transfers = [transfer(1)];
    const facts = await historyFacts({ chain: 'eth', from: OTHER.toLowerCase(), to: ADDRESS }, source);
    expect(facts.history).toMatchObject({ status: 'COMPLETE' });
    const wrong = await historyFacts({ chain: 'ETH', from: 'nonsense', to: ADDRESS }, source);
    expect(wrong.history).toMatchObject({ status: 'NONE' });
  });
});
