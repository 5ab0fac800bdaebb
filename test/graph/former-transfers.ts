/**
 * The transfers of `format-4.mdb.gz` and `format-5.mdb.gz`, stores that the last programs of these formats wrote: two batches, then two
 * blocks that can be reverted, with limits of fresh transactions that leave some of them waiting.
 */
import { seededUint32 } from '../../src/base/random.ts';
import type { Block } from '../../src/chains/block.ts';
import type { Transfer } from '../../src/chains/transfer.ts';

export const FORMER_FRESH = { max: 700, step: 400 } as const;
export const FORMER_BLOCKS = 2;
const TRANSFERS = 1_500;
const HEIGHT = 5_000;
const ADDRESSES = 900;

export const formerAddress = (index: number): string => `0x${(index * 7919).toString(16).padStart(40, '0')}`;
export const formerHash = (index: number): string =>
  index % 50 === 7
    ? `text ${index}`
    : `${index % 5 === 0 ? '' : '0x'}${(index * 104_729).toString(16).padStart(64, 'a')}`;

/** Address 1 is a hub, 2 is paid by few, many times, and there are amounts, prices and positions of all kinds. */
export function formerTransfers(count = TRANSFERS, seed = 4, blockNumber?: number): Transfer[] {
  const next = seededUint32(seed);
  const amounts = [0n, 7n, 25n * 10n ** 16n, 2n ** 64n + 3n, 2n ** 95n + 1n, 2n ** 200n + 5n];
  const party = (): string | null => {
    const draw = next() % 10;
    if (draw === 0) return null;
    return formerAddress(draw < 4 ? 1 : draw < 6 ? 2 + (next() % 4) : 6 + (next() % ADDRESSES));
  };
  return Array.from({ length: count }, (_, index) => {
    const from = party();
    const to = party() ?? (from === null ? formerAddress(2) : null);
    const transaction = seed * 10_000 + Math.floor(index / 2);
    const height = blockNumber ?? 100 + Math.floor(index / 50);
    return {
      chain: 'ETH' as const,
      txHash: formerHash(transaction),
      position: index % 2 === 0 ? 'value' : ([`log:${index}`, `trace:0_${index}`][next() % 2] as string),
      blockNumber: height,
      timestampMs: 1_600_000_000_000 + height * 12_000 + (next() % 7 === 0 ? next() % 86_400_000 : 0),
      from,
      to,
      asset: ['ETH', formerAddress(1000)][next() % 2] as string,
      amount: amounts[next() % amounts.length] as bigint,
      decimals: 18,
      valueUsd: next() % 3 === 0 ? null : (next() % 100_000) / 100,
    };
  });
}

/** Block 0 or 1 of those at the end. */
export const formerBlock = (index: number): Block => ({
  chain: 'ETH',
  height: HEIGHT + index,
  hash: `former ${index}`,
  parentHash: index === 0 ? null : `former ${index - 1}`,
  timestampMs: 1_600_000_000_000 + (HEIGHT + index) * 12_000,
  transfers: formerTransfers(60, 5 + index, HEIGHT + index),
});
