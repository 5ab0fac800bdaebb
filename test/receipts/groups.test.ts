import { inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeGroup, encodeGroup, type GroupItem } from '../../src/receipts/groups.ts';

const BLOCK_BYTES = 208;

const itemOf = (number: number, evidence: string): GroupItem => ({
  id: `receipt-${number}`,
  row: '{"accountId":"a"}',
  content: {
    facts: '{"v":1}',
    subject: { chain: 'ETH', address: `0x${number}` } as unknown as NonNullable<
      GroupItem['content']
    >['subject'],
    evidence,
    labels: null,
  },
  block: Buffer.alloc(BLOCK_BYTES, number),
});
const erased: GroupItem = {
  id: 'erased',
  row: '{"accountId":"b"}',
  content: null,
  block: Buffer.alloc(BLOCK_BYTES),
};

describe('a record of many receipts', () => {
  const group = [itemOf(1, '{"e":1}'), itemOf(2, '{"e":2}'), itemOf(3, '{"e":1}'), erased];
  const record = encodeGroup(group);

  it('gives the receipts back', () => {
    expect(decodeGroup(record)).toEqual(group);
  });

  it('has a text that several of them share once', () => {
    const shared = JSON.parse(inflateRawSync(record.subarray(2 + group.length * BLOCK_BYTES)).toString());
    expect(shared).toMatchObject({
      rows: ['{"accountId":"a"}', '{"accountId":"b"}'],
      facts: ['{"v":1}'],
      evidence: ['{"e":1}', '{"e":2}'],
    });
  });
});
