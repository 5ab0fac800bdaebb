/** The order of what issuing a receipt does: key, time, store, log. */
import { expect, it } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { SigningKeys } from '../../src/receipts/keys.ts';
import { parseReceipt, receiptHash } from '../../src/receipts/receipt.ts';
import { createReceipts } from '../../src/receipts/receipts.ts';
import type { ReceiptStore } from '../../src/receipts/store.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
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
  const store = { keys, add: async () => void steps.push('store') } as unknown as ReceiptStore;
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
