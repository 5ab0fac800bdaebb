/** Receipts from templates have the bytes of receipts that are written whole. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { RECEIPT_LIMITS } from '../../src/receipts/limits.ts';
import { receiptBytes } from '../../src/receipts/receipt.ts';
import type { Receipt } from '../../src/receipts/receipt-schema.ts';
import { ReceiptTemplate } from '../../src/receipts/template.ts';
import { receiptWith } from './world.ts';

const TEXTS = ['', 'urn:assay', 'https://example.org/a"b\\c', 'Zürich \u{1f600}', '\u2028', 'x'.repeat(499)];

describe('a template of receipts', () => {
  it('gives the same bytes and hash as a receipt that is written whole', () => {
    const next = seededUint32(7);
    const pick = <T>(values: readonly T[]): T => values[next() % values.length] as T;
    const hex = (bytes: number): string =>
      Array.from({ length: bytes }, () => (next() % 256).toString(16).padStart(2, '0')).join('');
    for (let round = 0; round < 2_000; round++) {
      const receipt: Receipt = receiptWith({
        issuer: pick(TEXTS),
        dataVersion: pick(TEXTS),
        asOf: pick([null, '2026-01-31']),
        assessed: pick([true, false, null]),
        subject: pick([[], ['eip155:1:0x00'], ['a:b', 'c:d'], ['ä']]),
        reasonCodes: pick([[], ['SANCTIONED'], ['A', 'B', 'C']]),
        lines: pick([null, { count: 3, root: hex(32) }]),
        requestSha256: hex(32),
        answerSha256: hex(32),
        evidenceSha256: hex(32),
        salt: hex(16),
      });
      const { id, subject, requestSha256, answerSha256, evidenceSha256, salt, ...shared } = receipt;
      const own = { id, subject, requestSha256, answerSha256, evidenceSha256, salt };
      const template = new ReceiptTemplate(shared);
      const { hash, encoded } = template.textOf(own);
      const bytes = receiptBytes(receipt);
      expect(encoded.join('')).toBe(bytes.toString('base64url'));
      expect(hash).toEqual(createHash('sha256').update(bytes).digest());
      expect(template.receiptOf(own)).toEqual(receipt);
    }
  });

  it.each([-1, 0, 1])('gives the same bytes of a receipt at its greatest length %i', (more) => {
    const longest = RECEIPT_LIMITS.receiptBytesMax + more;
    const receiptOf = (chars: number): Receipt => receiptWith({ subject: ['x'.repeat(chars)] });
    const receipt = receiptOf(longest - receiptBytes(receiptOf(0)).length);
    const { id, subject, requestSha256, answerSha256, evidenceSha256, salt, ...shared } = receipt;
    const own = { id, subject, requestSha256, answerSha256, evidenceSha256, salt };
    const { hash, encoded } = new ReceiptTemplate(shared).textOf(own);
    const bytes = receiptBytes(receipt);
    expect(bytes).toHaveLength(longest);
    expect(encoded.join('') === bytes.toString('base64url')).toBe(true);
    expect(hash).toEqual(createHash('sha256').update(bytes).digest());
  });
});
