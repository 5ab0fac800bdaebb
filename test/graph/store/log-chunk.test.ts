/** Values of the log: any records come back as they were, whether the value is of the current or of a former format. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packTransaction } from '../../../src/graph/store/fingerprint.ts';
import {
  EMPTY_RECORD,
  hasTransfer,
  type LoggedTransfer,
  packTransfer,
  partiesOf,
  recordsIn,
  transferAt,
} from '../../../src/graph/store/log.ts';
import { packChunk } from '../../../src/graph/store/log-chunk.ts';
import { createColumns, scanLog } from '../../../src/graph/store/log-scan.ts';

const digits = (fill: number): string => fill.toString(16).padStart(2, '0').repeat(32);
const anyTransfer: fc.Arbitrary<LoggedTransfer> = fc.record({
  transaction: fc
    .oneof(
      fc.nat(2).map((fill) => `0x${digits(fill)}`),
      fc.nat(2).map(digits),
      fc.constantFrom('a', 'text id'),
    )
    .map(packTransaction),
  position: fc.oneof(
    fc.constant('value'),
    fc.nat(500).map((n) => `log:${n}`),
    fc.constantFrom('odd 1', ''),
  ),
  blockNumber: fc.oneof(fc.integer({ min: 100, max: 103 }), fc.nat(Number.MAX_SAFE_INTEGER)),
  timestampMs: fc.oneof(
    fc.integer({ min: 0, max: 5 }).map((s) => 1_700_000_000_000 + s * 1000),
    fc.integer({ min: 0, max: 2 ** 44 }),
  ),
  from: fc.nat(2 ** 31 - 1),
  to: fc.nat(5),
  asset: fc.integer({ min: 1, max: 12 }),
  amount: fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    fc.tuple(fc.nat(1_000_000), fc.nat(30)).map(([digit, zeros]) => BigInt(digit) * 10n ** BigInt(zeros)),
    fc.bigInt({ min: 0n, max: 2n ** 96n }),
  ),
  cents: fc.option(fc.nat(1e12)),
  initiation: fc.nat(5),
});
const anyRecords = fc.array(fc.option(anyTransfer, { freq: 6 }), { minLength: 1, maxLength: 8 });
const joined = (transfers: readonly (LoggedTransfer | null)[]): Buffer =>
  Buffer.concat(transfers.map((one) => (one === null ? EMPTY_RECORD : packTransfer(one))));

describe('a value of the log', () => {
  it('has its transfers, in this form and in the former one', () => {
    fc.assert(
      fc.property(anyRecords, (transfers) => {
        const former = joined(transfers);
        for (const bytes of [Buffer.from(packChunk(former)), former]) {
          const records = { logChunk: () => bytes };
          expect(transfers.map((_, at) => transferAt(records, at))).toEqual(transfers);
          expect(transfers.map((_, at) => hasTransfer(records, at))).toEqual(
            transfers.map((one) => one !== null),
          );
          expect(transferAt(records, transfers.length) === null || transfers.length === 8).toBe(true);
          expect(Buffer.concat(recordsIn(bytes)).equals(former)).toBe(true);
          expect(recordsIn(bytes).map(partiesOf)).toEqual(
            transfers.map((one) => (one === null ? [0, 0] : [one.from, one.to])),
          );
          const scanned = createColumns(8);
          const log = { getBinaryFast: () => bytes };
          for (const batch of scanLog(
            { log } as unknown as Parameters<typeof scanLog>[0],
            0,
            transfers.length,
          )) {
            scanned.count = batch.count;
            for (const name of [
              'ordinal',
              'from',
              'to',
              'asset',
              'amount',
              'timestampMs',
              'initiation',
            ] as const)
              scanned[name].set(batch[name].subarray(0, batch.count));
          }
          const held = transfers.flatMap((one, at) => (one === null ? [] : [{ ...one, ordinal: at }]));
          expect([...scanned.amount.subarray(0, scanned.count)]).toEqual(
            held.map(({ amount }) => Number(amount)),
          );
          for (const name of ['ordinal', 'from', 'to', 'asset', 'timestampMs', 'initiation'] as const)
            expect([...scanned[name].subarray(0, scanned.count)]).toEqual(held.map((one) => one[name]));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('has one hash for the transfers of a transaction, and one time for those of a block', () => {
    const transfer: LoggedTransfer = {
      transaction: packTransaction(`0x${'ab'.repeat(32)}`),
      position: 'log:12',
      blockNumber: 17_173_049,
      timestampMs: 1_683_029_999_000,
      from: 2_000_000,
      to: 3_000_000,
      asset: 2,
      amount: 1_500_000_000_000_000_000n,
      cents: 280_050,
      initiation: 0,
    };
    const other = { ...transfer, transaction: packTransaction(`0x${'cd'.repeat(32)}`) };
    const sizes = [[transfer], [transfer, transfer], [transfer, other]].map(
      (some) => packChunk(joined(some)).length,
    );
    const [one, same, both] = sizes as [number, number, number];
    expect(same - one).toBeLessThanOrEqual(17);
    expect(both - one).toBeLessThanOrEqual(49);
  });

  it('is rejected if it ends inside a transfer', () => {
    fc.assert(
      fc.property(anyTransfer, fc.nat(), (transfer, at) => {
        const bytes = Buffer.from(packChunk(joined([transfer])));
        const cut = 2 + (at % (bytes.length - 2));
        expect(() => transferAt({ logChunk: () => bytes.subarray(0, cut) }, 0)).toThrow('in the middle of');
      }),
    );
  });
});
