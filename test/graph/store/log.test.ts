import { describe, expect, it } from 'vitest';
import type { ChainRecords } from '../../../src/graph/store/chain-records.ts';
import { packTransaction } from '../../../src/graph/store/fingerprint.ts';
import { initiationCode, initiationIn } from '../../../src/graph/store/initiation.ts';
import { packTransfer, readTransfer } from '../../../src/graph/store/log.ts';

const A = '0x00000000219ab540356cBB839Cbe05303d7705Fa';
const B = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const C = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';

const record = {
  transaction: packTransaction(`0x${'ab'.repeat(32)}`),
  position: 'log:12',
  blockNumber: 17_173_049,
  timestampMs: 1_683_029_999_000,
  from: 3,
  to: 4,
  asset: 2,
  amount: 1_500_000_000_000_000_000n,
  cents: 280_050,
  initiation: 0,
};
/** The record as written by programs that did not store how a transaction was started. */
const BEFORE =
  '3a0000abababababababababababababababababababababababababababababababab69b9949808deff87c50c030402f38b110814d1120d7b160000';

const recordsOf = (bytes: Buffer): ChainRecords =>
  ({ chain: 'ETH', logChunk: () => bytes }) as unknown as ChainRecords;

describe('a log record', () => {
  it('of an earlier store is read, with an unknown start', () => {
    const read = readTransfer(recordsOf(Buffer.from(BEFORE, 'hex')), 0);
    expect(read).toEqual(record);
    expect(initiationIn(read.initiation)).toBeNull();
  });

  it('with an unknown start is written as before', () => {
    expect(packTransfer(record).toString('hex')).toBe(BEFORE);
  });

  it('keeps the sender of the transaction, and the kind of its call', () => {
    const answers = [true, false, null];
    for (const [sender, name] of [
      [A, 'FROM'],
      [B, 'TO'],
      [C, 'OTHER'],
    ] as const)
      for (const callsAsset of answers)
        for (const decodes of answers) {
          const initiation = initiationCode({ from: A, to: B, initiation: { sender, callsAsset, decodes } });
          const bytes = Buffer.concat([packTransfer({ ...record, initiation }), packTransfer(record)]);
          const read = readTransfer(recordsOf(bytes), 0);
          expect(initiationIn(read.initiation)).toEqual({ sender: name, callsAsset, decodes });
          // The next record begins at its end.
          expect(readTransfer(recordsOf(bytes), 1)).toEqual(record);
        }
  });
});
