/** The list of a contract as it is read page by page, from a node that this file plays. */
import { AbiCoder, Interface } from 'ethers';
import { describe, expect, it } from 'vitest';
import { readList } from '../../../src/receipts/oracle/contracts.ts';
import { ORACLE_LIMITS } from '../../../src/receipts/oracle/limits.ts';
import type { ChainRpc } from '../../../src/receipts/oracle/rpc.ts';

const CONTRACT = `0x${'ab'.repeat(20)}`;
const OWNER = `0x${'01'.repeat(20)}`;
const abi = new Interface([
  'function owner() view returns (address)',
  'function pusher() view returns (address)',
  'function count() view returns (uint256)',
  'function page(uint256 from, uint256 limit) view returns (address[])',
]);
const addressOf = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;

/** A node with a contract that announces `count` addresses, and has `listed` of them. */
function nodeOf(count: number, listed = count) {
  const pages: number[] = [];
  const answerOf = (data: string): string => {
    const { name, args } = abi.parseTransaction({ data }) ?? {};
    if (name === 'count') return AbiCoder.defaultAbiCoder().encode(['uint256'], [count]);
    if (name !== 'page') return AbiCoder.defaultAbiCoder().encode(['address'], [OWNER]);
    const [from, limit] = [Number(args?.[0]), Number(args?.[1])];
    pages.push(from);
    if (count > 10_000) throw new Error('a page of a large list was requested');
    const size = Math.max(0, Math.min(limit, listed - from));
    const rows = Array.from({ length: size }, (_, at) => addressOf(from + at + 1));
    return AbiCoder.defaultAbiCoder().encode(['address[]'], [rows]);
  };
  const rpc: Pick<ChainRpc, 'request'> = {
    request: async (method, params, read) => {
      expect(method).toBe('eth_call');
      return read(answerOf((params as unknown as [{ data: string }])[0].data));
    },
  };
  return { pages, read: () => readList(rpc as ChainRpc, CONTRACT, 7) };
}

describe('the list of a contract', () => {
  it('is read in pages to its last address', async () => {
    const { listPage } = ORACLE_LIMITS;
    for (const [count, pages] of [
      [0, []],
      [1, [0]],
      [listPage, [0]],
      [listPage + 1, [0, listPage]],
    ] as const) {
      const node = nodeOf(count);
      const list = await node.read();
      expect([list.addresses.size, node.pages], String(count)).toEqual([count, pages]);
      expect(list).toMatchObject({ block: 7, pusher: OWNER, owner: OWNER });
    }
  });

  it('is refused if it has fewer addresses than it announces', async () => {
    await expect(nodeOf(3, 2).read()).rejects.toMatchObject({ code: 'CHAIN_BAD_ANSWER' });
  });

  it('is read up to the limit of addresses', async () => {
    const { listedAddressesMax: most } = ORACLE_LIMITS;
    const [within, beyond] = [nodeOf(most), nodeOf(most + 1)];
    await expect(within.read()).rejects.toMatchObject({ code: 'CHAIN_REFUSED' });
    await expect(beyond.read()).rejects.toThrow(`lists ${most + 1} addresses`);
    expect([within.pages, beyond.pages]).toEqual([[0], []]);
  });
});
