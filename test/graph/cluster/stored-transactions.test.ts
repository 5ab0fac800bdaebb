import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { formatAddressKey, parseAddress } from '../../../src/chains/address/parse.ts';
import type { UtxoTransaction } from '../../../src/chains/utxo-transaction.ts';
import { buildClusters } from '../../../src/graph/cluster/build.ts';
import { openClusters } from '../../../src/graph/cluster/store.ts';
import { isWholeHistory, storedBlocks } from '../../../src/graph/cluster/stored-transactions.ts';
import { type OutputsStore, openOutputsStore } from '../../../src/graph/utxo/outputs-store.ts';
import { bech32Address as a } from './addresses.ts';

const id = (number: number): string => number.toString(16).padStart(64, '0');
const TIME = Date.UTC(2023, 0, 1);

/** A transaction of block `height` that spends outputs (transaction, index) and pays addresses. */
const tx = (
  number: number,
  height: number,
  indexInBlock: number,
  spends: readonly (readonly [number, number])[],
  payments: readonly (readonly [number, bigint])[],
): UtxoTransaction => ({
  chain: 'BTC',
  txid: id(number),
  blockNumber: height,
  indexInBlock,
  timestampMs: TIME + height * 600_000,
  isCoinbase: spends.length === 0,
  inputs: spends.map(([from, vout]) => ({ txid: id(from), vout, address: null, value: null })),
  outputs: payments.map(([to, value], n) => ({ n, address: a(to), value, script: 'p2wpkh' })),
});

describe('clusters of stored transactions', () => {
  let folder = '';
  let outputs: OutputsStore;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-cluster-stored-'));
    outputs = openOutputsStore({ path: join(folder, 'outputs'), readOnly: false });
  });
  afterEach(async () => {
    await outputs.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const stored = (chain: 'BTC' | 'LTC' = 'BTC') =>
    [...storedBlocks(chain, outputs).blocks(0)].flatMap(({ transactions }) => transactions);
  const put = (height: number, ...transactions: UtxoTransaction[]): void => {
    const block = {
      height,
      hash: null,
      parentHash: null,
      timestampMs: TIME + height * 600_000,
      transactions,
    };
    outputs.put('BTC', [block]);
  };

  it('read the transactions in chain order, with resolved inputs', () => {
    put(
      5,
      tx(
        3,
        5,
        1,
        [
          [1, 0],
          [2, 0],
        ],
        [[30, 90n]],
      ),
      tx(4, 5, 0, [], [[40, 7n]]),
    );
    put(1, tx(1, 1, 0, [], [[10, 50n]]));
    put(2, tx(2, 2, 0, [], [[20, 50n]]));
    const numbered = stored();
    const found = numbered.map(({ tx }) => tx);
    expect(found.map(({ txid }) => txid)).toEqual([id(1), id(2), id(4), id(3)]);
    expect(found[3]?.inputs).toEqual([
      { txid: id(1), vout: 0, address: a(10), value: 50n },
      { txid: id(2), vout: 0, address: a(20), value: 50n },
    ]);
    expect(found[3]?.outputs).toEqual([{ n: 0, address: a(30), value: 90n, script: 'p2wpkh' }]);
    const numbers = [10, 20].map((one) => outputs.addressNumber('BTC', parseAddress('BTC', a(one)).key));
    expect(numbered[3]?.inputs).toEqual(numbers);
    const key = outputs.addressKey('BTC', numbers[0] as number);
    expect(formatAddressKey(key as Uint8Array, 'BTC')).toBe(a(10));
    expect(outputs.addressKey('BTC', 999)).toBeNull();
    expect(isWholeHistory('BTC', outputs)).toBe(true);
  });

  it('have a shielded value only if a part of it is not 0', () => {
    const shielded = { ...tx(2, 1, 1, [], [[11, 5n]]), shielded: { in: 0n, out: 7n } };
    const other = { ...tx(3, 1, 2, [], [[12, 5n]]), shielded: { in: 3n, out: 0n } };
    put(1, tx(1, 1, 0, [], [[10, 5n]]), shielded, other);
    expect(stored().map((found) => found.tx.shielded)).toEqual([
      undefined,
      { in: 0n, out: 7n },
      { in: 3n, out: 0n },
    ]);
  });

  it('have an input without address and value if its output is unknown', () => {
    put(300, tx(3, 300, 0, [[1, 0]], [[30, 90n]]));
    const [found] = stored();
    expect(found?.inputs).toEqual([0]);
    expect(found?.tx.inputs).toEqual([{ txid: id(1), vout: 0, address: null, value: null }]);
    expect(isWholeHistory('BTC', outputs)).toBe(false);
    expect(stored('LTC')).toEqual([]);
  });

  it('join inputs that are signed together', async () => {
    put(
      1,
      tx(
        1,
        1,
        0,
        [],
        [
          [10, 50n],
          [11, 60n],
          [12, 5n],
        ],
      ),
    );
    put(
      2,
      tx(
        2,
        2,
        0,
        [
          [1, 0],
          [1, 1],
        ],
        [[20, 110n]],
      ),
    );
    const report = await buildClusters(
      { chain: 'BTC', folder: join(folder, 'clusters'), completeHistory: isWholeHistory('BTC', outputs) },
      { source: storedBlocks('BTC', outputs), clock: systemClock },
    );
    expect(report).toMatchObject({
      transactions: 2,
      clusters: 1,
      clustered: 2,
      lastBlock: 2,
      completeHistory: true,
    });
    const reader = openClusters({ folder: join(folder, 'clusters') }, { addresses: outputs });
    expect(
      reader
        .clusterOf(parseAddress('BTC', a(10)).key)
        ?.members(20)
        .toSorted(),
    ).toEqual([a(10), a(11)].sort());
    expect(reader.clusterOf(parseAddress('BTC', a(12)).key)).toBeNull();
    await reader.close();
  });
});
