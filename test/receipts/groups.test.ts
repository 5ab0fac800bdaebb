import { inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeGroup, encodeGroup, type GroupItem, groupsOf } from '../../src/receipts/groups.ts';
import { RECEIPT_LIMITS } from '../../src/receipts/limits.ts';

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

describe('receipts are divided', () => {
  const sizes = (items: readonly { readonly item: GroupItem; readonly issuedAtMs: number }[]) =>
    groupsOf(items).map((group) => group.length);
  const at = (issuedAtMs: number, evidence = '{"e":1}') => ({ item: itemOf(1, evidence), issuedAtMs });

  it('into as many as a record may have, all of one millisecond', () => {
    const { groupReceiptsMax: most } = RECEIPT_LIMITS;
    const all = (count: number) => Array.from({ length: count }, () => at(7));
    expect([0, 1, most, most + 1, 2 * most + 1].map((count) => sizes(all(count)))).toEqual([
      [],
      [1],
      [most],
      [most, 1],
      [most, most, 1],
    ]);
    expect(sizes([at(1), at(1), at(2), at(1), at(1)])).toEqual([2, 1, 2]);
  });

  it('into records of at most their bytes, beginning anew with each', () => {
    const { row, content } = itemOf(1, '');
    const half = RECEIPT_LIMITS.groupBytesMax / 2 - row.length - (content?.facts.length ?? 0);
    const [exact, more] = ['x'.repeat(half), 'x'.repeat(half + 1)];
    expect([sizes([at(1, exact), at(1, exact)]), sizes([at(1, exact), at(1, more)])]).toEqual([[2], [1, 1]]);
    expect(sizes([at(1, exact), at(1, more), at(1, exact), at(1, exact)])).toEqual([1, 1, 2]);
    expect(sizes([at(1, exact), at(1, exact), { item: erased, issuedAtMs: 1 }])).toEqual([2, 1]);
  });
});
