/** What the page that verifies receipts refuses beside a genuine receipt. The browser test shows the page itself. */
import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { canonicalSha256 } from '../../src/receipts/canonical.ts';
import { thumbprintOf } from '../../src/receipts/keys.ts';
import { receiptWith, signedJws } from '../../test/receipts/world.ts';
import { checkPasted } from '../src/pages/verify/check.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const x = String(privateKey.export({ format: 'jwk' }).x);
const kid = thumbprintOf(x);
const jwks = JSON.stringify({
  keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'Ed25519', use: 'sig', iat: 0 }],
});
const answer = { verdict: 'danger', score: 100 };
const evidence = { kind: 'ORACLE', labels: [] };
const policy = { version: '1' };
const receipt = receiptWith({
  answerSha256: canonicalSha256(answer),
  evidenceSha256: canonicalSha256(evidence),
  policySha256: canonicalSha256(policy),
});
const jws = signedJws(receipt, kid, privateKey);
const record = { id: receipt.id, kind: receipt.kind, issuedTo: 'key', jws, evidence, policy };

const check = (pasted: string) => checkPasted({ receipt: pasted, jwks, proof: '', logKey: '' }, 0);
const response = (data: object): string => JSON.stringify({ success: true, data });

it('accepts a response, a receipt alone and a record of a receipt', async () => {
  expect(await check(response({ ...answer, receipt: { jws } }))).toMatchObject({ hasAnswer: true });
  expect(await check(response({ receipt: { jws } }))).toMatchObject({ hasAnswer: false });
  expect(await check(jws)).toMatchObject({ hasAnswer: false });
  expect(await check(response(record))).toMatchObject({ hasAnswer: false });
  expect(await check(response({ ...record, evidence: null, policy: null }))).toMatchObject({
    hasAnswer: false,
  });
});

it.each([
  ['a changed answer', response({ ...answer, verdict: 'safe', receipt: { jws } }), 'answer: is not'],
  [
    'a changed answer with members of a record',
    response({ ...answer, verdict: 'safe', evidence: {}, issuedTo: 'key', receipt: { jws } }),
    'answer: is not',
  ],
  ['a record with a member of an answer', response({ ...record, verdict: 'safe' }), 'answer: is not'],
  [
    'a changed answer with members of a line',
    response({ ...answer, line: 0, path: [], receipt: { jws } }),
    'no lines',
  ],
  ['other evidence', response({ ...record, evidence: { kind: 'ORACLE', labels: [1] } }), 'evidence: is not'],
  ['another policy', response({ ...record, policy: { version: '2' } }), 'policy: is not'],
  [
    'a verdict that is given twice',
    response({ ...answer, receipt: { jws } }).replace('"verdict"', '"verdict":"safe","verdict"'),
    'the member "verdict" twice',
  ],
])('refuses %s', async (_, pasted, message) => {
  await expect(check(pasted)).rejects.toThrow(message);
});
