/** A receipt, a key and a store for tests of receipts. */
import { type KeyObject, sign } from 'node:crypto';
import { systemRandom } from '../../src/base/random.ts';
import { canonicalJson } from '../../src/receipts/canonical.ts';
import { commonFacts } from '../../src/receipts/groups.ts';
import { compactJws, signedPart } from '../../src/receipts/jws.ts';
import { receiptBytes } from '../../src/receipts/receipt.ts';
import type { Receipt } from '../../src/receipts/receipt-schema.ts';
import {
  type ContentTexts,
  OWN_FACTS,
  type OwnFacts,
  type ReceiptContent,
} from '../../src/receipts/store.ts';
import { openReceiptStore } from '../../src/receipts/store-lmdb.ts';
import { createEncryption, type Encryption } from '../../src/state/encryption.ts';
import type { OpenStore } from '../../src/state/live-store.ts';

export const NOW_MS = Date.parse('2026-11-23T10:00:00Z');
export const NOW_SECONDS = NOW_MS / 1000;

const HASH = 'ab'.repeat(32);

export const receiptWith = (fields: Partial<Receipt> = {}): Receipt => ({
  v: 1,
  id: '01kaq2z8g0000000000000000a',
  kind: 'ORACLE',
  subject: ['eip155:1:0x098B716B8Aaf21512996dC57EB0615e2383E2f96'],
  requestSha256: HASH,
  answerSha256: HASH,
  evidenceSha256: HASH,
  verdict: 'danger',
  score: 100,
  riskLevel: 'CRITICAL',
  sanctioned: true,
  reasonCodes: ['SANCTIONED'],
  assessed: true,
  asOf: null,
  narrowed: [],
  coverage: [
    { list: 'OFAC_SDN', publishedAt: '2026-11-20', checkedAt: '2026-11-23T09:00:00.000Z', parties: 17 },
  ],
  dataVersion: 'v7',
  graph: [{ chain: 'eip155:1', height: 21_000_000, asOf: '2026-11-23T08:00:00.000Z' }],
  policySha256: HASH,
  policyVersion: '2026-11',
  softwareVersion: '1.0.0',
  issuedAt: NOW_SECONDS,
  expiresAt: NOW_SECONDS + 900,
  issuer: 'https://assay.example',
  salt: '00'.repeat(16),
  lines: null,
  ...fields,
});

/** Returns the texts of a content with which a store gets it. */
export function textsOf({ receipt, evidence, policy }: ReceiptContent): ContentTexts {
  const { labels, ...rest } = evidence;
  return {
    own: Object.fromEntries(OWN_FACTS.map((name) => [name, receipt[name]])) as OwnFacts,
    facts: commonFacts(receipt),
    coverage: receipt.coverage,
    policy,
    labels: labels === undefined ? null : canonicalJson(labels),
    evidence: canonicalJson(rest),
  };
}

export const testEncryption = (): Encryption => createEncryption(Buffer.alloc(32, 7), systemRandom);

export const storeAt = (path: string, clock: { readonly now: () => number }, openStore?: OpenStore) =>
  openReceiptStore(
    { path },
    {
      clock: { ...clock, monotonic: () => performance.now() },
      encryption: testEncryption,
      ...(openStore === undefined ? {} : { openStore }),
    },
  );

/** Returns the JWS of a receipt. */
export function signedJws(receipt: Receipt, kid: string, privateKey: KeyObject): string {
  const text = signedPart(kid, receiptBytes(receipt).toString('base64url'));
  return compactJws(receipt, kid, sign(null, Buffer.from(text), privateKey));
}
