/** Histories from explorers: the same transfers, with the same positions, as the blocks themselves have. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/evm/adapter.ts';
import type { ChainAdapter } from '../../../../src/chains/families/port.ts';
import type { Transfer } from '../../../../src/chains/transfer.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { ACCOUNTS, type Anvil, callData, hasAnvil, startAnvil } from '../../../setup/anvil.ts';
import { type Explorer, startExplorer } from './explorer.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'blockscout' } };
const [OWNER, OTHER] = ACCOUNTS;

/** Blocks with every kind of transfer, and an explorer that indexes them. */
async function makeWorld(layout: 'blockscout' | 'etherscan'): Promise<{ anvil: Anvil; explorer: Explorer }> {
  const anvil = await startAnvil();
  const explorer = await startExplorer(layout);
  const token = await anvil.deploy('Token');
  const pieces = await anvil.deploy('Pieces');
  const router = await anvil.deploy('Router');
  const kinds = await anvil.deploy('Pieces');
  explorer.pieces.set(pieces, 721);
  explorer.pieces.set(kinds, 1155);
  for (let block = 0; block < 4; block++) {
    await anvil.send({ to: OTHER, value: BigInt(block + 1) });
    await anvil.send({ to: token, data: callData('transfer', OTHER, 100n + BigInt(block)) });
    await anvil.send({ to: pieces, data: callData('give', OTHER, BigInt(block)) });
    await anvil.send({ to: kinds, data: callData('giveSome', OTHER, 5n, 40n) });
    await anvil.send({ to: kinds, data: callData('giveMany', OTHER, [7n, 8n, 9n], [1n, 0n, 3n]) });
    await anvil.send({ to: router, value: 8_000n, data: callData('run', OTHER), gas: 1_000_000 });
    await anvil.mine();
  }
  const reader = openFor(family, 'ETH', { rpc: [anvil.url] });
  const { height } = await reader.head(within(10_000));
  for (let at = 0; at <= height; at++) {
    const { block } = await reader.block(at, within(10_000));
    explorer.transfers.push(...(block?.transfers ?? []));
  }
  await reader.close();
  explorer.logs = await anvil.rpc('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest' });
  return { anvil, explorer };
}

if (hasAnvil)
  for (const layout of ['blockscout', 'etherscan'] as const)
    adapterConformance(`the EVM adapter with ${layout}`, family, async () => {
      const { anvil, explorer } = await makeWorld(layout);
      const busy = explorer.transfers.at(-1)!.blockNumber;
      return {
        chain: 'ETH',
        rpc: anvil.url,
        history: explorer.url,
        address: OTHER,
        unused: '0x2222222222222222222222222222222222222222',
        balance: async () => BigInt(await anvil.rpc<string>('eth_getBalance', OTHER, 'latest')),
        historyKind: 'TRANSFERS',
        busyBlock: async () => ({
          height: busy,
          items: explorer.transfers.filter((row) => row.blockNumber === busy).length,
        }),
        mine: null,
        reorg: null,
        ofAnotherChain: null,
        dispose: async () => {
          await explorer.close();
          await anvil.stop();
        },
      };
    });

describe.skipIf(!hasAnvil).each(['blockscout', 'etherscan'] as const)(
  'the history of an address by %s',
  (layout) => {
    let world: { anvil: Anvil; explorer: Explorer };
    let adapter: ChainAdapter;
    beforeAll(async () => {
      world = await makeWorld(layout);
      adapter = openFor(family, 'ETH', { history: [world.explorer.url] });
    });
    afterAll(async () => {
      await adapter?.close();
      await world?.explorer.close();
      await world?.anvil.stop();
    });

    const ofOther = (): Transfer[] =>
      world.explorer.transfers
        .filter((row) => row.from === OTHER || row.to === OTHER)
        .filter((row) => layout === 'etherscan' || !row.position.startsWith('trace:'));
    const inOrder = (rows: readonly Transfer[]): Transfer[] =>
      rows.toSorted((a, b) => `${a.txHash}${a.position}`.localeCompare(`${b.txHash}${b.position}`));
    /**
     * Compares transfers without their initiation: an explorer names the sender of a transaction only if the address sent or received it.
     */
    const expectMoves = (found: readonly Transfer[], expected: readonly Transfer[]): void => {
      const moves = (rows: readonly Transfer[]) => inOrder(rows).map(({ initiation: _, ...move }) => move);
      expect(moves(found)).toEqual(moves(expected));
      const senders = new Map(expected.map(({ txHash, initiation }) => [txHash, initiation?.sender]));
      const known = found.filter(({ initiation }) => initiation);
      expect(known.length).toBeGreaterThan(0);
      for (const { txHash, initiation } of known) expect(initiation?.sender).toBe(senders.get(txHash));
    };
    const page = (cursor: string | null = null, limit = 100) =>
      adapter.history(OTHER, { cursor, limit, from: null, to: null }, within(10_000));

    it('matches the blocks, with their positions', async () => {
      const answer = await page();
      expect(answer.source).toMatch(new RegExp(`^${layout} 127.0.0.1:`));
      expect(
        JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
      ).not.toContain('secret');
      expectMoves(answer.transfers, ofOther());
      // Blockscout numbers internal transfers without their position in the trace: they are left out, and the response says so.
      expect(answer.completeness).toBe(layout === 'etherscan' ? 'COMPLETE' : 'PARTIAL');
      expect(answer.nextCursor).toBeNull();
    });

    it.runIf(layout === 'blockscout')('includes internal transfers by an own node', async () => {
      const { anvil, explorer } = world;
      const query = { cursor: null, limit: 100, from: null, to: null };
      const own = openFor(family, 'ETH', { rpc: [anvil.url], history: [explorer.url] });
      const answer = await own.history(OTHER, query, within(10_000));
      expect(answer.completeness).toBe('COMPLETE');
      const all = explorer.transfers.filter((row) => row.from === OTHER || row.to === OTHER);
      expectMoves(answer.transfers, all);
      expect(all.filter(({ position }) => position.startsWith('trace:')).length).toBeGreaterThan(8);
      await own.close();
      // If the explorer and the node disagree on the number of transfers of a transaction, neither is used.
      explorer.rewrite = (body, asked) => (asked.get('action') === 'txlistinternal' ? without(body) : body);
      const doubting = openFor(family, 'ETH', { rpc: [anvil.url], history: [explorer.url] });
      const doubted = await doubting.history(OTHER, query, within(10_000));
      explorer.rewrite = null;
      expect(doubted).toMatchObject({ completeness: 'PARTIAL', note: expect.stringContaining('missing') });
      expect(doubted.transfers.length).toBeLessThan(answer.transfers.length);
      await doubting.close();
    });

    it('has each kind of an ERC-1155 batch at its own position', async () => {
      const { transfers } = await page();
      const batch = transfers.filter(({ position }) => /^log:\d+:\d$/.test(position));
      expect(batch).toHaveLength(12);
      expect(batch.map(({ position, amount }) => `${position.at(-1)} ${amount}`).toSorted()).toEqual(
        ['0 1', '1 0', '2 3'].flatMap((row) => [row, row, row, row]),
      );
      expect(transfers.filter(({ amount, decimals }) => amount === 40n && decimals === 0)).toHaveLength(4);
    });

    it('returns a block that is larger than a page completely', async () => {
      const { explorer } = world;
      const kept = explorer.transfers;
      const [template] = kept.filter((row) => row.position === 'value' && row.to === OTHER);
      explorer.transfers = Array.from({ length: 1_700 }, (_, index) => ({
        ...template!,
        txHash: `0x${(index + 1).toString(16).padStart(64, '0')}`,
        blockNumber: index < 1_600 ? 50 : 49 - (index - 1_600),
      }));
      try {
        const seen: Transfer[] = [];
        let pages = 0;
        for (let cursor: string | null = null; ; pages++) {
          const next = await page(cursor, 100);
          seen.push(...next.transfers);
          cursor = next.nextCursor;
          if (cursor === null) break;
          expect(pages).toBeLessThan(200);
        }
        expect(new Set(seen.map((row) => row.txHash)).size).toBe(1_650);
        expect(seen).toHaveLength(1_650);
      } finally {
        explorer.transfers = kept;
      }
    });

    it.each<[string, Explorer['rewrite'], string]>([
      [
        'an error in words',
        () => ({ status: '0', message: 'NOTOK', result: 'Invalid API Key' }),
        'CHAIN_REFUSED',
      ],
      [
        'a rate limit in words',
        () => ({ status: '0', message: 'NOTOK', result: 'Max rate limit reached' }),
        'CHAIN_UNREACHABLE',
      ],
      ['a list of texts', () => ({ status: '1', message: 'OK', result: ['x'] }), 'CHAIN_BAD_ANSWER'],
      ['nothing at all', () => ({}), 'CHAIN_BAD_ANSWER'],
      ['a negative height', (body) => change(body, { blockNumber: '-5' }), 'CHAIN_BAD_ANSWER'],
      [
        'a height out of the range',
        (body) => change(body, { blockNumber: '9999999999999' }),
        'CHAIN_BAD_ANSWER',
      ],
      ['an amount of 90 digits', (body) => change(body, { value: '9'.repeat(90) }), 'CHAIN_BAD_ANSWER'],
      ['an amount as an object', (body) => change(body, { value: {} }), 'CHAIN_BAD_ANSWER'],
      ['a hash of the wrong length', (body) => change(body, { hash: '0x12' }), 'CHAIN_BAD_ANSWER'],
      ['an address that is none', (body) => change(body, { from: 'me' }), 'CHAIN_BAD_ANSWER'],
      ['a time before any block', (body) => change(body, { timeStamp: '12' }), 'CHAIN_BAD_ANSWER'],
      ['more rows than asked for', (body) => more(body), 'CHAIN_BAD_ANSWER'],
      ['HTML', () => '<html>Just a moment...</html>', 'CHAIN_BAD_ANSWER'],
    ])('%s ends in a typed error', async (_, rewrite, code) => {
      const own = openFor(family, 'ETH', { history: [world.explorer.url] });
      world.explorer.rewrite = rewrite;
      try {
        await expect(
          own.history(OWNER, { cursor: null, limit: 10, from: null, to: null }, within(10_000)),
        ).rejects.toMatchObject({ code });
      } finally {
        world.explorer.rewrite = null;
        await own.close();
      }
    });
  },
);

/** Returns the response with fields of its first row changed. */
function change(body: unknown, fields: Record<string, unknown>): unknown {
  const { result, ...rest } = body as { result: Record<string, unknown>[] };
  const [first, ...others] = result;
  return { ...rest, result: first === undefined ? [] : [{ ...first, ...fields }, ...others] };
}

/** Returns the response without its first row. */
function without(body: unknown): unknown {
  const { result, ...rest } = body as { result: unknown[] };
  return { ...rest, result: result.slice(1) };
}

function more(body: unknown): unknown {
  const { result } = body as { result: unknown[] };
  return { status: '1', message: 'OK', result: Array.from({ length: 5_000 }, () => result[0] ?? {}) };
}
