/** Histories from explorers that answer in the documented format: pages, busy blocks, shielded pools, inconsistent answers. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ScriptReader } from '../../../../src/chains/bitcoin-script.ts';
import type { ChainAdapter, HistoryPage } from '../../../../src/chains/families/port.ts';
import { openAdapter } from '../../../../src/chains/families/utxo/adapter.ts';
import type { ChainId } from '../../../../src/chains/registry.ts';
import { openFor, within } from '../../../conformance/adapter.ts';
import type { BitcoinNode } from '../../../setup/litecoind.ts';
import { type Explorer, startBlockbook, startEsplora } from './explorers.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'esplora' } };
const OWN_SCRIPT = `76a914${'11'.repeat(20)}88ac`;
const OTHER_SCRIPT = `76a914${'22'.repeat(20)}88ac`;
const LTC_GENESIS = '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2';
const OWN = new ScriptReader('LTC').read(Buffer.from(OWN_SCRIPT, 'hex')).address!;

const hash = (kind: string, ...numbers: number[]): string =>
  kind.padEnd(48, '0') + numbers.map((number) => number.toString(16).padStart(8, '0')).join('');

/** A chain in memory, in the form in which a node returns it, with `counts[height]` payments to the address in each block. */
function chainOf(counts: readonly number[]): BitcoinNode {
  const hashAt = (height: number): string => (height === 0 ? LTC_GENESIS : hash('b', height, 0));
  const coinbase = (height: number) => ({
    txid: hash('c', height, 0),
    vin: [{ coinbase: '00' }],
    vout: [{ n: 0, value: 50, scriptPubKey: { hex: OTHER_SCRIPT, type: 'pubkeyhash' } }],
  });
  const payment = (height: number, index: number) => ({
    txid: hash('a', height, index),
    vin: [{ txid: hash('c', height, 0), vout: 0 }],
    vout: [{ n: 0, value: 0.5, scriptPubKey: { hex: OWN_SCRIPT, type: 'pubkeyhash' } }],
  });
  const blocks = counts.map((count, height) => ({
    hash: hashAt(height),
    height,
    time: 1_600_000_000 + height * 150,
    previousblockhash: height === 0 ? null : hashAt(height - 1),
    tx: [coinbase(height), ...Array.from({ length: count }, (_, index) => payment(height, index))],
  }));
  return {
    url: '',
    wholeBlock: [2],
    rpc: (async (method: string, id: string) =>
      method === 'getbestblockhash'
        ? blocks.at(-1)!.hash
        : blocks.find((block) => block.hash === id)) as BitcoinNode['rpc'],
    stop: async () => {},
  };
}

let explorer: Explorer | null = null;
let adapter: ChainAdapter | null = null;
afterEach(async () => {
  await adapter?.close();
  await explorer?.close();
  explorer = null;
  adapter = null;
});

async function open(layout: 'esplora' | 'blockbook', counts: readonly number[]): Promise<ChainAdapter> {
  const node = chainOf(counts);
  explorer = layout === 'esplora' ? await startEsplora(node) : await startBlockbook(node, 'LTC');
  adapter = openFor(family, 'LTC', { history: [`${layout}+${explorer.url}`] });
  return adapter;
}

async function all(own: ChainAdapter, limit: number, range: { from?: number; to?: number } = {}) {
  const pages: HistoryPage[] = [];
  for (let cursor: string | null = null; ; ) {
    const query = { cursor, limit, from: range.from ?? null, to: range.to ?? null };
    const page: HistoryPage = await own.history(OWN, query, within(20_000));
    pages.push(page);
    cursor = page.nextCursor;
    if (cursor === null) return { pages, rows: pages.flatMap(({ transactions = [] }) => transactions) };
    expect(pages.length).toBeLessThan(500);
  }
}

describe.each(['esplora', 'blockbook'] as const)('history from %s', (layout) => {
  const counts = [0, 3, 0, 40, 1, 1, 0, 12, 2, 0, 30];
  const total = counts.reduce((sum, count) => sum + count, 0);

  it.each([1, 7, 25, 100])(
    'contains each transaction once, newest first, with pages of %i',
    async (limit) => {
      const own = await open(layout, counts);
      const { rows, pages } = await all(own, limit);
      expect(rows).toHaveLength(total);
      expect(new Set(rows.map(({ txid }) => txid)).size).toBe(total);
      const heights = rows.map(({ blockNumber }) => blockNumber);
      expect(heights).toEqual(heights.toSorted((a, b) => b - a));
      const largest = Math.max(...counts, limit);
      for (const page of pages) expect(page.transactions?.length).toBeLessThanOrEqual(largest);
    },
  );

  it.each([3, 10, 11, 1_000])('does not depend on the page size of the server: %i', async (pageRows) => {
    const own = await open(layout, counts);
    // Servers of mempool.space send at least 10 rows; a shorter page is the last one.
    explorer!.pageRows = layout === 'esplora' ? Math.max(10, pageRows) : pageRows;
    expect((await all(own, 20)).rows).toHaveLength(total);
    const { block } = await own.block(3, within(20_000));
    expect(block?.transactions).toHaveLength(41);
  });

  it('reads a range in the middle to its ends and no further', async () => {
    const own = await open(layout, counts);
    const { rows } = await all(own, 10, { from: 4, to: 8 });
    expect(rows.map(({ blockNumber }) => blockNumber)).toEqual([8, 8, ...Array(12).fill(7), 5, 4]);
  });

  it('ends after a few pages with a cursor for an address with tens of thousands of transactions', async () => {
    const own = await open(layout, [0, ...Array(400).fill(2)]);
    const before = explorer!.requests.length;
    const query = { cursor: null, limit: 50, from: null, to: 10 };
    const page = await own.history(OWN, query, within(20_000));
    expect(page.nextCursor === null).toBe(layout === 'blockbook');
    expect(explorer!.requests.length - before).toBeLessThan(15);
  });
});

/** A Blockbook that returns the responses of the test. */
async function answering(chain: ChainId, answers: Readonly<Record<string, unknown>>) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '').split('?')[0]!.replace('/api/v2', ''));
    const found = answers[path];
    response.writeHead(found === undefined ? 400 : 200).end(JSON.stringify(found ?? { error: 'not found' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const own = openFor(family, chain, { history: [`blockbook+http://127.0.0.1:${port}`] });
  return {
    own,
    async close() {
      await own.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

describe('data that Blockbook omits from Zcash transactions', () => {
  const ZEC_GENESIS = '00040fe8ec8471911baa1db1266ea15dd06b4a8a5c453883c000b031973dce08';
  const placed = { blockHeight: 500, blockTime: 1_600_000_000, confirmations: 7 };
  const shielding = {
    ...placed,
    txid: 'aa'.repeat(32),
    vin: [{ n: 0, txid: 'bb'.repeat(32), vout: 1, value: '300000000', isAddress: false }],
    vout: [{ n: 0, value: '100000000', hex: OWN_SCRIPT }],
  };
  const specific = {
    txid: shielding.txid,
    vin: [{ txid: 'bb'.repeat(32), vout: 1 }],
    vout: [{ n: 0, value: 1, scriptPubKey: { hex: OWN_SCRIPT } }],
    valueBalance: -1.9999,
    valueBalanceZat: -199990000,
  };

  it('is read from its node, so that shielded value is not a fee', async () => {
    const own = new ScriptReader('ZEC').read(Buffer.from(OWN_SCRIPT, 'hex')).address!;
    const world = await answering('ZEC', {
      '/block-index/0': { blockHash: ZEC_GENESIS },
      [`/address/${own}`]: {
        page: 1,
        itemsOnPage: 25,
        balance: '100000000',
        txs: 1,
        transactions: [shielding],
      },
      [`/tx-specific/${shielding.txid}`]: specific,
    });
    const query = { cursor: null, limit: 10, from: null, to: null };
    const page = await world.own.history(own, query, within(5_000));
    expect(page.transactions).toMatchObject([{ shielded: { in: 0n, out: 199_990_000n } }]);
    await world.close();
  });
});

it('is not read from an explorer of another chain or fork', async () => {
  const fork = '000000000000000000651ef99cb9fcbe0dadde1d424bd9f15ff20136191a5eec';
  const world = await answering('BTC', { '/block-index/478559': { blockHash: fork } });
  await expect(world.own.head(within(5_000))).rejects.toMatchObject({ code: 'CHAIN_MISMATCH' });
  await world.close();
});
