import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UtxoInput, UtxoOutput, UtxoTransaction } from '../../../src/chains/utxo-transaction.ts';
import { apportion, projectTransaction } from '../../../src/graph/utxo/project.ts';

const A = '1BoatSLRHtKNngkdXEeobR76b53LETtpyT';
const B = '1KFHE7w8BhaENAswwryaoccDb6qcT6DbYY';
const C = '1MEMAUm1RGLYPqJAJmkewxfDm9dtFg4axs';
const D = '17n7EJW4ZLChSRqZs5cAPa9an7FtcTh1C9';

const input = (address: string | null, value: bigint | null, vout = 0): UtxoInput => ({
  txid: 'cd'.repeat(32),
  vout,
  address,
  value,
});
const output = (n: number, address: string | null, value: bigint): UtxoOutput => ({
  n,
  address,
  value,
  script: address === null ? 'multisig' : 'p2pkh',
});
const transaction = (
  inputs: readonly UtxoInput[],
  outputs: readonly UtxoOutput[],
  rest: Partial<UtxoTransaction> = {},
): UtxoTransaction => ({
  chain: 'BTC',
  txid: 'ab'.repeat(32),
  blockNumber: 7,
  indexInBlock: 1,
  timestampMs: 1_400_000_000_000,
  isCoinbase: false,
  inputs,
  outputs,
  ...rest,
});

const rows = (tx: UtxoTransaction): unknown[] =>
  projectTransaction(tx).transfers.map(({ position, from, to, amount }) => [position, from, to, amount]);

describe('a UTXO transaction as transfers', () => {
  it('divides every payment in proportion to the inputs of each address, without the fee', () => {
    const tx = transaction([input(A, 10n), input(B, 15n, 1), input(A, 5n, 2)], [output(0, C, 20n)]);
    expect(rows(tx)).toEqual([
      ['out:0:0', A, C, 10n],
      ['out:0:1', B, C, 10n],
    ]);
  });

  it('assigns the remainder to the largest fraction, so that the parts add up', () => {
    expect(apportion(10n, [1n, 1n, 1n])).toEqual([4n, 3n, 3n]);
    expect(apportion(10n, [1n, 5n, 3n])).toEqual([1n, 6n, 3n]);
    expect(apportion(5n, [0n, 0n])).toEqual([0n, 0n]);
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 1n << 60n }),
        fc.array(fc.bigInt({ min: 1n, max: 1n << 60n }), { minLength: 1 }),
        (amount, weights) => {
          const total = weights.reduce((a, b) => a + b, 0n);
          const parts = apportion(amount, weights);
          expect(parts.reduce((a, b) => a + b, 0n)).toBe(amount);
          for (const [at, part] of parts.entries()) {
            const exact = amount * (weights[at] as bigint);
            expect(part * total > exact - total && part * total < exact + total).toBe(true);
          }
        },
      ),
    );
  });

  it('excludes value that returns to a paying address from the flow', () => {
    const tx = transaction([input(A, 100n)], [output(0, B, 30n), output(1, A, 65n)]);
    expect(rows(tx)).toEqual([['out:0', A, B, 30n]]);
    expect(projectTransaction(tx).returned).toEqual([1]);
  });

  it('excludes change on which two heuristics agree, and pays out change by one alone', () => {
    const sure = transaction(
      [input(A, 500_000n), input(B, 600_000n, 1)],
      [output(0, C, 1_000_000n), output(1, D, 98_765n)],
    );
    expect(projectTransaction(sure).change).toMatchObject({ n: 1 });
    expect(rows(sure)).not.toContainEqual(['out:1:0', A, D, 44_893n]);
    const unsure = transaction([input(A, 1_100_000n)], [output(0, C, 1_000_000n), output(1, D, 98_765n)]);
    expect(projectTransaction(unsure).change).toBeNull();
    expect(rows(unsure)).toContainEqual(['out:1', A, D, 98_765n]);
  });

  it('has no sender for a coinbase', () => {
    const tx = transaction([], [output(0, A, 50n), output(1, null, 0n)], { isCoinbase: true });
    expect(rows(tx)).toEqual([['out:0', null, A, 50n]]);
  });

  it('counts the value of a script without an address', () => {
    const tx = transaction([input(A, 100n)], [output(0, null, 60n), output(1, B, 30n)]);
    expect(rows(tx)).toContainEqual(['out:0', A, null, 60n]);
    const spent = transaction([input(null, 60n)], [output(0, B, 60n)]);
    expect(rows(spent)).toEqual([['out:0', null, B, 60n]]);
  });

  it('has no sender for value from a shielded pool, and reports value that enters it', () => {
    const tx = transaction([input(A, 50n)], [output(0, B, 60n)], {
      chain: 'BTC',
      shielded: { in: 50n, out: 30n },
    });
    expect(rows(tx)).toEqual([
      ['out:0:0', A, B, 30n],
      ['out:0:1', null, B, 30n],
      ['shielded:0', A, null, 15n],
    ]);
  });

  it('has no change in a CoinJoin, which it reports', () => {
    const addresses = [A, B, C, D, '1FdEmtwm5uDT8RAjTGD4kr69BS8AVE7Er5'];
    const inputs = addresses.map((address, at) => input(address, 10_000_000n + BigInt(at) * 1_000n, at));
    const outputs = [
      '15hDhrMY2qJ6MMKizQ66F9nYJprmPcoANv',
      '14uLoU4c3c2fk3Ptfm1kd6adZDWUgh5Rg8',
      '1HWqsgnSd12Gv8SpoUMi1Cj8hp79BTSpW7',
      '15JqCCDmQpi9CwFNkWVaEUvXd6iWjCFYMJ',
      A,
    ].map((address, n) => output(n, address, 9_999_000n));
    const projection = projectTransaction(transaction(inputs, outputs));
    expect(projection.coinJoin).not.toBeNull();
    expect(projection.returned).toEqual([]);
    expect(projection.transfers.filter(({ to }) => to === A)).toHaveLength(5);
  });

  it('names senders and receivers without pairs if there are too many pairs', () => {
    const senders = Array.from({ length: 101 }, (_, at) => input(at === 0 ? A : B, 10n, at));
    const many = transaction(
      senders,
      Array.from({ length: 6_000 }, (_, n) => output(n, n % 2 === 0 ? C : D, 0n)).concat(
        output(6_000, C, 1_000n),
      ),
    );
    const projection = projectTransaction(many);
    expect(projection.isUnpaired).toBe(true);
    expect(projection.transfers.map(({ from, to, amount }) => [from, to, amount])).toEqual([
      [A, null, 10n],
      [B, null, 990n],
      [null, C, 1_000n],
    ]);
  });

  it('rejects a transaction that pays more than its inputs', () => {
    expect(() => projectTransaction(transaction([input(A, 5n)], [output(0, B, 6n)]))).toThrow(
      /pays 1 satoshi more/,
    );
  });
});
