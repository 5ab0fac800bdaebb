import { describe, expect, it } from 'vitest';
import type { ChainRecords } from '../../../src/graph/store/chain-records.ts';
import type { ChainStore } from '../../../src/graph/store/chain-store.ts';
import { packTransaction } from '../../../src/graph/store/fingerprint.ts';
import { initiationCode, initiationIn } from '../../../src/graph/store/initiation.ts';
import {
  EMPTY_RECORD,
  LogWriter,
  packTransfer,
  readTransfer,
  recordsIn,
} from '../../../src/graph/store/log.ts';

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

describe('the log writer', () => {
  it('appends records, and replaces them at any place of their chunk', () => {
    const chunks = new Map<number, Buffer>();
    const log = {
      getBinary: (chunk: number) => chunks.get(chunk),
      putSync: (chunk: number, bytes: Buffer) => chunks.set(chunk, Buffer.from(bytes)),
    };
    const writer = new LogWriter({ log } as unknown as ChainStore);
    const made = (from: number) => ({ ...record, from });
    // The second chunk has a gap in front.
    for (const ordinal of [0, 1, 2, 3, 4, 5, 6, 7, 10, 11]) writer.append(ordinal, made(ordinal + 1));
    writer.flush();
    const packed = (...numbers: number[]) =>
      numbers.map((number) => (number === 0 ? EMPTY_RECORD : packTransfer(made(number))));
    expect(recordsIn(chunks.get(0))).toEqual(packed(1, 2, 3, 4, 5, 6, 7, 8));
    expect(recordsIn(chunks.get(1))).toEqual(packed(0, 0, 11, 12));
    for (const ordinal of [0, 3, 7, 8, 11]) writer.add(ordinal, EMPTY_RECORD);
    writer.add(9, packTransfer(made(90)));
    writer.flush();
    expect(recordsIn(chunks.get(0))).toEqual(packed(0, 2, 3, 0, 5, 6, 7, 0));
    expect(recordsIn(chunks.get(1))).toEqual(packed(0, 90, 11, 0));
    expect(() => writer.append(5, made(5))).toThrow('Transfer 5 is logged already.');
  });
});
