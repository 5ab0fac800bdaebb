/** The order of what issuing a receipt does: key, time, store, log. */
import { expect, it } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { canonicalSha256 } from '../../src/receipts/canonical.ts';
import type { SigningKeys } from '../../src/receipts/keys.ts';
import { answerOf, receiptHash } from '../../src/receipts/receipt.ts';
import { parseReceipt } from '../../src/receipts/receipt-schema.ts';
import { createReceipts } from '../../src/receipts/receipts.ts';
import type { ReceiptStore } from '../../src/receipts/store.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import type { Evidence, OracleEvidence } from '../../src/screening/evidence.ts';
import { NO_EXPOSURE } from '../../src/screening/exposure-port.ts';
import { rescore } from '../../src/screening/rescore.ts';
import { testKey } from '../setup/verdicts.ts';
import { NOW_MS, NOW_SECONDS } from './world.ts';

it('takes the time after the key, and answers after the store and the log', async () => {
  let nowMs = NOW_MS;
  const steps: string[] = [];
  const keys = {
    async active() {
      nowMs += 5_000; // The first key is created meanwhile.
      return { kid: 'kid', sign: async () => new Uint8Array(64) };
    },
  } as unknown as SigningKeys;
  const store = { keys, prepare: () => async () => void steps.push('store') } as unknown as ReceiptStore;
  let hash: unknown = null;
  const receipts = createReceipts(
    { softwareVersion: '1.0.0' },
    {
      store,
      policy: loadPolicy(loadTaxonomy().rows),
      lists: () => [],
      issuer: () => 'urn:assay:test',
      log: () => ({
        async append([entry]) {
          await new Promise((resolve) => setImmediate(resolve));
          hash = entry?.hash;
          steps.push('log');
          return [];
        },
      }),
      verdictKey: () => Promise.reject(new Error('unused')),
      clock: { now: () => nowMs, monotonic: () => nowMs },
      random: systemRandom,
    },
  );
  const answer = { matches: [] };
  const evidence = { kind: 'NAMES', answer } as const;
  const { jws } = await receipts.issue(
    { accountId: 'a', issuedTo: 'key_ann' },
    { kind: 'NAMES', request: {}, answer, evidence },
  );
  expect(steps).toEqual(['store', 'log']);
  const receipt = parseReceipt(JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString()));
  expect(receipt.issuedAt).toBe(NOW_SECONDS + 5);
  expect(hash).toEqual(receiptHash(receipt));
});

/** Evidence of the oracle about an address without labels that took part in stored transfers. */
const clean: OracleEvidence = {
  kind: 'ORACLE',
  labels: [[]],
  entry: NO_EXPOSURE,
  isSeen: true,
  notRead: null,
  staleReason: null,
  graph: { height: 1, asOf: null },
};
const stale = {
  code: 'STALE_OR_MISSING_DATA',
  ...{ severity: 'MEDIUM', category: null, message: 'EU is missing.', source: null, verified: true },
} as unknown as NonNullable<OracleEvidence['staleReason']>;
const address = '0x00000000000000000000000000000000a55a0007';

it('signs the verdict of the evidence for one contract, and nothing that a contract must not act on', async () => {
  const policy = loadPolicy(loadTaxonomy().rows);
  const stored: string[] = [];
  const key = testKey(0xa55a);
  const receipts = createReceipts(
    { softwareVersion: '1.0.0' },
    {
      store: {
        keys: { active: async () => ({ kid: 'kid', sign: async () => new Uint8Array(64) }) },
        prepare:
          ({ id }: { readonly id: string }) =>
          async () =>
            void stored.push(id),
      } as unknown as ReceiptStore,
      policy,
      lists: () => [],
      issuer: () => 'urn:assay:test',
      log: null,
      verdictKey: async () => key,
      clock: { now: () => NOW_MS, monotonic: () => NOW_MS },
      random: systemRandom,
    },
  );
  const target = { chainId: 1, verifyingContract: `0x${'11'.repeat(20)}` };
  const issue = (evidence: Evidence, more: object = {}, request: object = {}) => {
    const { verdict, score, riskLevel, sanctioned } = rescore(evidence, policy);
    const judged = { verdict, score, riskLevel, sanctioned };
    const answer = { address, chain: 'ETH', ...judged, dataVersion: 'v7', ...more };
    return receipts.issue(
      { accountId: 'a', issuedTo: 'key_ann' },
      { kind: evidence.kind, request, answer, evidence },
      target,
    );
  };
  const { eip712 } = await issue(clean);
  expect(eip712?.message).toMatchObject({
    verdict: 1,
    score: 0,
    sanctioned: false,
    expiresAt: NOW_SECONDS + 900,
  });
  expect((await issue({ ...clean, staleReason: stale })).eip712?.message.verdict).toBe(2);
  const sanctions = { kind: 'SANCTIONS', labels: [[]], staleReason: null } as const;
  expect((await issue(sanctions)).eip712?.message).toMatchObject({ verdict: 0, score: 0, sanctioned: false });
  expect(stored).toHaveLength(3);
  await expect(issue({ ...sanctions, staleReason: stale })).rejects.toThrow('missing or too old');
  await expect(issue(clean, { chain: 'BTC', address: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa' })).rejects.toThrow(
    'EVM',
  );
  await expect(issue(clean, { from: address, to: address })).rejects.toThrow('one subject');
  await expect(issue(clean, { asOf: '2020-01-01' })).rejects.toThrow('asOf');
  await expect(issue(clean, {}, { maxHops: 1 })).rejects.toThrow('narrow');
  expect(stored).toHaveLength(3);
});

it('binds each answer with its own members, and what they share', async () => {
  const policy = loadPolicy(loadTaxonomy().rows);
  const receipts = createReceipts(
    { softwareVersion: '1.0.0' },
    {
      store: {
        keys: { active: async () => ({ kid: 'kid', sign: async () => new Uint8Array(64) }) },
        prepare: () => async () => {},
      } as unknown as ReceiptStore,
      policy,
      lists: () => [],
      issuer: () => 'urn:assay:test',
      log: null,
      verdictKey: () => Promise.reject(new Error('unused')),
      clock: { now: () => NOW_MS, monotonic: () => NOW_MS },
      random: systemRandom,
    },
  );
  const { verdict, score, riskLevel, sanctioned } = rescore(clean, policy);
  const shared = { chain: 'ETH', verdict, score, riskLevel, sanctioned, assessed: true, dataVersion: 'v7' };
  const attest = async (remaining: number, evidence: Evidence, request: object, answer: object = shared) => {
    const own = { address: `0x${remaining.toString(16).padStart(40, '0')}`, quota: { remaining } };
    const text = await receipts.attest(
      { accountId: 'a', issuedTo: 'key_ann' },
      { kind: 'ORACLE', request, answer: answer as typeof shared, own, evidence },
    );
    const data = JSON.parse(text);
    expect(answerOf(data)).toEqual({ ...answer, ...own });
    const payload = Buffer.from(data.receipt.jws.split('.')[1] ?? '', 'base64url').toString();
    const receipt = parseReceipt(JSON.parse(payload));
    expect(receipt.answerSha256).toBe(canonicalSha256(answerOf(data)));
    expect(receipt.requestSha256).toBe(canonicalSha256(request));
    expect(receipt.evidenceSha256).toBe(canonicalSha256(evidence));
    expect(receipt.subject).toEqual([`eip155:1:${own.address}`]);
    return receipt;
  };
  for (const remaining of [1, 2, 3]) await attest(remaining, clean, { chain: 'ETH' });
  // Other evidence of the same verdict, and a request that reads less.
  const higher = { ...clean, graph: { height: 2, asOf: null } };
  expect((await attest(4, higher, { chain: 'ETH' })).graph[0]?.height).toBe(2);
  expect((await attest(5, higher, { maxHops: 1 })).narrowed).toEqual(['maxHops=1']);
  expect((await attest(6, higher, { chain: 'ETH' })).narrowed).toEqual([]);
  expect((await attest(7, clean, {}, { ...shared, dataVersion: 'v8' })).dataVersion).toBe('v8');
  // Evidence that does not give the verdict of the same answer.
  await expect(attest(8, { ...clean, staleReason: stale }, {})).rejects.toThrow('no receipt was issued');
});
