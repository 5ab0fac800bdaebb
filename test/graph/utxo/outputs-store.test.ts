import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import type { UtxoBlock, UtxoInput, UtxoTransaction } from '../../../src/chains/utxo-transaction.ts';
import { openTransferStore, type TransferStore } from '../../../src/graph/store.ts';
import { ingestUtxoBlock, ingestUtxoBlocks, revertUtxoBlock } from '../../../src/graph/utxo/ingest-utxo.ts';
import { type OutputsStore, openOutputsStore } from '../../../src/graph/utxo/outputs-store.ts';

const A = '1BoatSLRHtKNngkdXEeobR76b53LETtpyT';
const B = '1KFHE7w8BhaENAswwryaoccDb6qcT6DbYY';
const C = '1MEMAUm1RGLYPqJAJmkewxfDm9dtFg4axs';
const keyOf = (address: string): Uint8Array => parseAddress('BTC', address).key;

let folder = '';
let outputs: OutputsStore;
let transfers: TransferStore;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-outputs-'));
  outputs = openOutputsStore({ path: folder, readOnly: false });
  transfers = openTransferStore({ path: folder, readOnly: false });
});
afterEach(async () => {
  await outputs.close();
  await transfers.close();
  rmSync(folder, { recursive: true });
});

/** The first 16 digits are the same for all: the store abbreviates ids to them. */
const txid = (name: string): string =>
  `${'0'.repeat(16)}${Buffer.from(name).toString('hex')}`.padEnd(64, 'f');

interface Spend {
  readonly of: string;
  readonly n?: number;
  readonly address?: string;
  readonly value?: bigint;
}

function tx(
  name: string,
  height: number,
  spends: readonly Spend[],
  pays: readonly (readonly [string | null, bigint])[],
  indexInBlock = 0,
): UtxoTransaction {
  const inputs = spends.map(
    ({ of, n = 0, address = null, value = null }): UtxoInput => ({ txid: txid(of), vout: n, address, value }),
  );
  return {
    chain: 'BTC',
    txid: txid(name),
    blockNumber: height,
    indexInBlock,
    timestampMs: height * 600_000,
    isCoinbase: spends.length === 0,
    inputs,
    outputs: pays.map(([address, value], n) => ({
      n,
      address,
      value,
      script: address === null ? 'op_return' : 'p2pkh',
    })),
  };
}

const block = (height: number, transactions: readonly UtxoTransaction[], mark = 'a'): UtxoBlock => ({
  height,
  hash: `${mark}${height}`,
  parentHash: `${mark}${height - 1}`,
  timestampMs: height * 600_000,
  transactions,
});

const disorder = tx(
  'disorder',
  4,
  [],
  [
    [A, 1n],
    [A, 2n],
  ],
);
const outOfOrder = block(4, [
  { ...disorder, outputs: disorder.outputs.map((output) => ({ ...output, n: 0 })) },
]);

const chain = (): UtxoBlock[] => [
  block(1, [tx('reward', 1, [], [[A, 50n]])]),
  block(2, [
    tx(
      'pay',
      2,
      [{ of: 'reward' }],
      [
        [B, 30n],
        [A, 18n],
        [null, 0n],
      ],
      0,
    ),
    tx('on', 2, [{ of: 'pay' }], [[C, 30n]], 1),
  ]),
  block(3, [tx('last', 3, [{ of: 'on' }, { of: 'pay', n: 1 }], [[B, 47n]])]),
];

const spenderOf = (name: string, n: number): string | null => {
  const graph = outputs.graph('BTC');
  const number = graph?.numberOf(txid(name));
  if (!graph || number == null) return null;
  const spender = graph.transaction(number).outputs[n]?.spentBy;
  return spender ? graph.transaction(spender).txid : null;
};

const received = (address: string): bigint =>
  transfers.totals('BTC', keyOf(address))?.in.byAsset[0]?.amount ?? 0n;

describe('the outputs store', () => {
  it('finds every output, its address and its spender, also for ids with the same prefix', () => {
    outputs.put('BTC', chain());
    const graph = outputs.graph('BTC');
    const pay = graph?.transaction(graph.numberOf(txid('pay')) ?? 0);
    expect(pay).toMatchObject({ isKnown: true, block: 2, indexInBlock: 0, timestampMs: 1_200_000 });
    expect(pay?.outputs.map(({ value, script }) => [value, script])).toEqual([
      [30n, 'p2pkh'],
      [18n, 'p2pkh'],
      [0n, 'op_return'],
    ]);
    expect(Buffer.from(graph?.keyOf(pay?.outputs[0]?.address ?? 0) ?? [])).toEqual(Buffer.from(keyOf(B)));
    expect(spenderOf('reward', 0)).toBe(txid('pay'));
    expect(spenderOf('pay', 1)).toBe(txid('last'));
    expect(spenderOf('last', 0)).toBeNull();
    expect(outputs.coverage('BTC')).toMatchObject({ transactions: 4, firstBlock: 1, lastBlock: 3 });
  });

  it('lists payments to an address, newest first and limited', () => {
    outputs.put('BTC', chain());
    const graph = outputs.graph('BTC');
    const names = (limit: number): unknown[] =>
      outputs.outputsOf('BTC', keyOf(B), limit).map(({ tx, n }) => [graph?.transaction(tx).txid, n]);
    expect(names(10)).toEqual([
      [txid('last'), 0],
      [txid('pay'), 0],
    ]);
    expect(names(1)).toEqual([[txid('last'), 0]]);
  });

  it('treats a transaction without inputs as new money, on any chain', async () => {
    const unlock = { ...tx('unlock', 1, [], [[A, 5n]]), isCoinbase: false };
    await ingestUtxoBlocks('BTC', [block(1, [unlock])], { outputs, transfers });
    expect(received(A)).toBe(5n);
  });

  it('stores amounts beyond 2^53', () => {
    const much = 12_345_678_901_234_567_890n;
    outputs.put('BTC', [block(1, [tx('much', 1, [], [[A, much]])])]);
    const graph = outputs.graph('BTC');
    expect(graph?.transaction(graph.numberOf(txid('much')) ?? 0).outputs[0]?.value).toBe(much);
  });

  it('ignores a block that is read again', async () => {
    const first = await ingestUtxoBlocks('BTC', chain(), { outputs, transfers });
    expect(first).toMatchObject({ blocks: 3, transactions: 4, known: 0, unresolved: 0, duplicates: 0 });
    const again = await ingestUtxoBlocks('BTC', chain(), { outputs, transfers });
    expect(again).toMatchObject({ transactions: 0, known: 4, stored: 0, duplicates: first.stored });
    expect(received(B)).toBe(30n + 47n);
  });

  it('gives the same state for any order of blocks, and delays transfers until inputs are known', async () => {
    const counts = [];
    for (const one of chain().reverse())
      counts.push(await ingestUtxoBlocks('BTC', [one], { outputs, transfers }));
    expect(counts.map(({ unresolved }) => unresolved)).toEqual([1, 1, 0]);
    expect(received(B)).toBe(30n + 47n);
    expect(received(C)).toBe(30n);
    expect(spenderOf('reward', 0)).toBe(txid('pay'));
    expect(outputs.outputsOf('BTC', keyOf(B), 10)).toHaveLength(2);
  });

  it('keeps an output that only its spender mentions, and completes it later', async () => {
    const spend = tx('on', 2, [{ of: 'pay', n: 5, address: B, value: 30n }], [[C, 29n]]);
    await ingestUtxoBlocks('BTC', [block(2, [spend])], { outputs, transfers });
    expect(received(C)).toBe(29n);
    expect(outputs.outputsOf('BTC', keyOf(B), 10)).toHaveLength(1);
    const pays = Array.from({ length: 6 }, (): readonly [string, bigint] => [B, 30n]);
    outputs.put('BTC', [block(1, [tx('pay', 1, [], pays)])]);
    expect(outputs.outputsOf('BTC', keyOf(B), 10)).toHaveLength(6);
    expect(spenderOf('pay', 5)).toBe(txid('on'));
  });

  const live = ({ height, hash, parentHash, timestampMs, transactions }: UtxoBlock): Promise<unknown> =>
    ingestUtxoBlock(
      { chain: 'BTC', height, hash: hash ?? '', parentHash, timestampMs, transfers: [], transactions },
      { outputs, transfers },
    );

  it('looks up the inputs that a live block does not contain', async () => {
    for (const one of chain()) await live(one);
    await live(chain()[2] as UtxoBlock);
    expect(transfers.totals('BTC', keyOf(A))?.out.byAsset[0]?.amount).toBe(30n + 18n);
  });

  it('reverts a live block in both stores, and accepts another in its place', async () => {
    for (const one of chain()) await live(one);
    await expect(revertUtxoBlock('BTC', 2, { outputs, transfers })).rejects.toThrow(/newer block spends/);
    const gone = await revertUtxoBlock('BTC', 3, { outputs, transfers });
    expect(gone).toBeGreaterThan(0);
    expect(received(B)).toBe(30n);
    expect(spenderOf('on', 0)).toBeNull();
    await live({ ...block(3, [tx('other', 3, [{ of: 'on' }], [[B, 30n]])], 'b'), parentHash: 'a2' });
    expect(received(B)).toBe(60n);
    await expect(revertUtxoBlock('BTC', 9, { outputs, transfers })).rejects.toThrow(/cannot be reverted/);
  });

  it('drops a block that a crash left without transfers if the chain continues with another', async () => {
    for (const one of chain().slice(0, 2)) await live(one);
    outputs.putLive('BTC', chain()[2] as UtxoBlock);
    await live({ ...block(3, [tx('other', 3, [{ of: 'on' }], [[B, 30n]])], 'b'), parentHash: 'a2' });
    expect(spenderOf('on', 0)).toBe(txid('other'));
    expect(spenderOf('pay', 1)).toBeNull();
    expect(received(B)).toBe(60n);
  });

  it('reverts the block below one that a crash left without transfers', async () => {
    for (const one of chain().slice(0, 2)) await live(one);
    outputs.putLive('BTC', chain()[2] as UtxoBlock);
    await revertUtxoBlock('BTC', 2, { outputs, transfers });
    expect(spenderOf('reward', 0)).toBeNull();
    expect(received(B)).toBe(0n);
  });

  it('does not replace a live block in both stores without a revert', async () => {
    for (const one of chain()) await live(one);
    const rival = { ...block(3, [], 'b'), parentHash: 'a2' };
    await expect(live(rival)).rejects.toThrow(/revert the stored one/);
    expect(spenderOf('on', 0)).toBe(txid('last'));
  });

  it('completes a revert that was interrupted between the stores', async () => {
    for (const one of chain()) await live(one);
    outputs.revert('BTC', 3);
    await revertUtxoBlock('BTC', 3, { outputs, transfers });
    expect(received(B)).toBe(30n);
  });

  it('reverts the newest block, and accepts the same transactions in another', () => {
    outputs.put('BTC', chain());
    const taken = outputs.revert('BTC', 3);
    expect(taken).toMatchObject([
      { txid: txid('last'), inputs: [{ value: 30n }, { value: 18n, address: A }] },
    ]);
    expect(spenderOf('on', 0)).toBeNull();
    expect(outputs.outputsOf('BTC', keyOf(B), 10)).toHaveLength(1);
    expect(outputs.coverage('BTC')).toMatchObject({ transactions: 3, lastBlock: 2 });
    const other = block(3, [tx('other', 3, [{ of: 'on' }], [[A, 30n]])], 'b');
    outputs.put('BTC', [{ ...other, parentHash: 'a2' }]);
    expect(spenderOf('on', 0)).toBe(txid('other'));
    expect(outputs.revert('BTC', 9)).toEqual([]);
  });

  it('reverts a block with transactions that spend each other', () => {
    outputs.put('BTC', chain().slice(0, 2));
    outputs.revert('BTC', 2);
    expect(spenderOf('reward', 0)).toBeNull();
    expect(outputs.graph('BTC')?.numberOf(txid('pay'))).toBeNull();
    outputs.put('BTC', chain().slice(1, 2));
    expect(spenderOf('pay', 0)).toBe(txid('on'));
  });

  it('rejects the revert of a block with later blocks, and changes nothing', () => {
    outputs.put('BTC', chain());
    expect(() => outputs.revert('BTC', 2)).toThrow(/newer block spends/);
    expect(spenderOf('pay', 1)).toBe(txid('last'));
    expect(outputs.block('BTC', 2)).toMatchObject({ hash: 'a2' });
  });

  it.each([
    ['another block at a height', block(2, [], 'b'), /revert the stored one/],
    ['a block on another', { ...block(4, []), parentHash: 'b3' }, /builds on b3/],
    ['outputs out of order', outOfOrder, /comes after output 0/],
    ['more paid than taken', block(4, [tx('more', 4, [{ of: 'last' }], [[A, 48n]])]), /pays 1 satoshi more/],
    ['an output spent twice', block(4, [tx('twice', 4, [{ of: 'on' }], [])]), /has already spent/],
    ['an output that is none', block(4, [tx('none', 4, [{ of: 'on', n: 1 }], [])]), /does not exist/],
    [
      'a transaction of another block',
      block(4, [tx('on', 4, [{ of: 'pay' }], [])]),
      /in block 4 of this file/,
    ],
  ])('rejects %s, and stores nothing of its batch', (_, bad, message) => {
    outputs.put('BTC', chain());
    const before = outputs.coverage('BTC');
    expect(() => outputs.put('BTC', [block(5, [tx('fine', 5, [], [[A, 1n]])]), bad])).toThrow(message);
    expect(outputs.coverage('BTC')).toEqual(before);
    expect(outputs.graph('BTC')?.numberOf(txid('fine'))).toBeNull();
    expect(outputs.block('BTC', 5)).toBeNull();
  });

  it('reads an unwritten chain as empty, and separates networks', async () => {
    const reader = openOutputsStore({ path: folder, readOnly: true });
    expect(reader.graph('DOGE')).toBeNull();
    expect(reader.graph('ETH')).toBeNull();
    expect(reader.outputsOf('LTC', keyOf(A), 5)).toEqual([]);
    await reader.close();
    outputs.setNetworks('BTC', ['main']);
    outputs.setNetworks('BTC', ['main', 'testnet3']);
    expect(() => outputs.setNetworks('BTC', ['regtest'])).toThrow(/networks cannot be mixed/);
  });
});
