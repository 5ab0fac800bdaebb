/**
 * Builds the clusters of a simulated chain in a folder, and kills its own process at a point of the work.
 * Run: node dist/test/graph/cluster/killed-build.js FOLDER BLOCKS POINT, with the point `block:N`, `join`, `sort` or `none`.
 */
import { seededUint32 } from '../../../src/base/random.ts';
import type { UtxoTransaction } from '../../../src/chains/utxo-transaction.ts';
import type { ClusterSource } from '../../../src/graph/cluster/scan.ts';
import { bech32Address } from './addresses.ts';
import { ClusterWorld, type Numbering, sourceOf } from './numbered.ts';
import { pays, transaction } from './transactions.ts';

/** Small enough that a chain of some hundred blocks is recorded often, fills many buckets, and is sorted in several parts. */
export const SMALL = {
  bucketBits: 6,
  settledBlocks: 10,
  transactionsPerRecord: 50,
  sortedMembersMax: 64,
} as const;

/** Five transactions a block of a chain that always has the same blocks. Wallets of ten addresses spend two of them together. */
export function chainOfBlocks(blocks: number): UtxoTransaction[] {
  const next = seededUint32(7);
  return Array.from({ length: blocks * 5 }, (_, number) => {
    const wallet = next() % 60;
    const own = (): string => bech32Address(1 + wallet * 10 + (next() % 10));
    return transaction({
      inputs: [...new Set([own(), own()])].map((address) => pays(address, 7_000)),
      outputs: [pays(bech32Address(10_000 + (number % 900)), 9_000)],
      blockNumber: Math.floor(number / 5),
    });
  });
}

/** Numbers all addresses in the order of the chain, as a store that has all of its blocks. */
export function numberAddresses(transactions: readonly UtxoTransaction[], numbering: Numbering): void {
  for (const { inputs, outputs } of transactions)
    for (const { address } of [...inputs, ...outputs]) numbering.numberOf(address);
}

/** Returns a source that calls `visit` before each block. */
const visited = (source: ClusterSource, visit: (height: number) => void): ClusterSource => ({
  ...source,
  *blocks(from) {
    for (const block of source.blocks(from)) {
      visit(block.height);
      yield block;
    }
  },
});

if (process.argv[1]?.endsWith('killed-build.js')) {
  const [folder = '', blocks, point = ''] = process.argv.slice(2);
  const reach = (here: string): void => {
    if (here === point) process.kill(process.pid, 'SIGKILL');
  };
  const world = new ClusterWorld(folder);
  const transactions = chainOfBlocks(Number(blocks));
  numberAddresses(transactions, world.numbering);
  const source = sourceOf(transactions, world.numbering);
  const { continuedAfter } = await world.build(
    visited(source, (height) => reach(`block:${height}`)),
    { ...SMALL, onProgress: (stage) => reach(stage) },
  );
  process.stdout.write(String(continuedAfter));
}
