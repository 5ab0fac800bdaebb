/** Receipts verified by the clients, without a server: the genuine ones, and those of an attacker. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ReceiptError, verifyReceipt } from '../../sdk/typescript/src/index.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { canonicalSha256 } from '../../src/receipts/canonical.ts';
import { thumbprintOf } from '../../src/receipts/keys.ts';
import { answerOf, receiptBytes } from '../../src/receipts/receipt.ts';
import { receiptWith, signedJws } from '../receipts/world.ts';
import { findPython, runPython } from '../setup/python.ts';

const ANSWER = {
  verdict: 'danger',
  score: 100,
  valueUsd: 1234.5,
  share: 1e-7,
  large: 402393681778563700,
  names: ['Zoë', '\u2028', '\u000f', '😀'],
  receipt: { id: 'x' },
  screeningId: 'y',
};
const python = findPython();

const base64url = (text: string | Uint8Array): string => Buffer.from(text).toString('base64url');

describe('receipts in the clients', () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const x = String(privateKey.export({ format: 'jwk' }).x);
  const kid = thumbprintOf(x);
  const now = Math.floor(Date.now() / 1000);
  const jwk = { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'Ed25519', use: 'sig', iat: now - 5_000 } as const;
  const receipt = receiptWith({
    issuedAt: now - 60,
    expiresAt: now + 840,
    answerSha256: canonicalSha256(answerOf(ANSWER)),
  });
  const header = { alg: 'Ed25519', kid, typ: 'assay-receipt+jws' };
  const forged = (head: object, payload: string | Uint8Array): string => {
    const text = `${base64url(JSON.stringify(head))}.${base64url(payload)}`;
    return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
  };
  const signed = async (of: typeof receipt): Promise<string> => signedJws(of, kid, privateKey);

  let jws: string;
  /** What both clients refuse: the token, the keys, the answer, and the field that the message names. */
  const refused = async (): Promise<
    readonly (readonly [string, string, object, object | undefined, string])[]
  > => {
    const [head, body, tail] = jws.split('.') as [string, string, string];
    const keys = { keys: [jwk] };
    return [
      [
        'an altered payload',
        `${head}.${base64url(receiptBytes({ ...receipt, score: 0 }))}.${tail}`,
        keys,
        undefined,
        'signature',
      ],
      ['no signature', `${head}.${body}.`, keys, undefined, 'jws'],
      ['two parts', `${head}.${body}`, keys, undefined, 'jws'],
      ['alg none', forged({ ...header, alg: 'none' }, receiptBytes(receipt)), keys, undefined, 'alg'],
      ['alg HS256', forged({ ...header, alg: 'HS256' }, receiptBytes(receipt)), keys, undefined, 'alg'],
      ['a key in the header', forged({ ...header, jwk }, receiptBytes(receipt)), keys, undefined, 'alg'],
      ['another type', forged({ ...header, typ: 'JWT' }, receiptBytes(receipt)), keys, undefined, 'typ'],
      ['an unknown key', jws, { keys: [{ ...jwk, kid: 'other' }] }, undefined, 'kid'],
      ['a key that was retired before', jws, { keys: [{ ...jwk, exp: now - 61 }] }, undefined, 'kid'],
      ['a key that is younger', jws, { keys: [{ ...jwk, iat: now }] }, undefined, 'kid'],
      [
        'a payload with white space',
        forged(header, ` ${receiptBytes(receipt)}`),
        keys,
        undefined,
        'canonical',
      ],
      [
        'an expired verdict',
        await signed({ ...receipt, issuedAt: now - 1_000, expiresAt: now - 100 }),
        keys,
        undefined,
        'expiresAt',
      ],
      ['another answer', jws, keys, { ...ANSWER, score: 0 }, 'answer'],
      ['a token that is too long', `${jws}${'A'.repeat(70_000)}`, keys, undefined, 'jws'],
      ['bytes that are not UTF-8', forged(header, Buffer.from([0xff])), keys, undefined, 'jws'],
    ];
  };

  beforeAll(async () => {
    jws = await signed(receipt);
  });

  it('verify in TypeScript, with the answer as it was parsed', async () => {
    const keys = { keys: [jwk] };
    expect(await verifyReceipt(jws, keys)).toEqual(receipt);
    const again = JSON.parse(JSON.stringify(ANSWER, null, 2));
    expect(await verifyReceipt(jws, keys, { answer: again })).toEqual(receipt);
    const expired = await signed({ ...receipt, issuedAt: now - 1_000, expiresAt: now - 100 });
    expect(await verifyReceipt(expired, keys, { allowExpired: true })).toMatchObject({ id: receipt.id });
  });

  it('are refused in TypeScript', async () => {
    for (const [name, token, keys, answer, field] of await refused()) {
      const result = verifyReceipt(token, keys as { keys: [typeof jwk] }, {
        answer: answer as Record<string, unknown> | undefined,
      });
      await expect(result, name).rejects.toThrow(ReceiptError);
      await expect(result, name).rejects.toThrow(field);
    }
  });

  it.skipIf(python === null)('verify in Python, and are refused there', async () => {
    if (python === null) return;
    const cases = [
      ['genuine', jws, { keys: [jwk] }, undefined, ''],
      ['genuine with its answer', jws, { keys: [jwk] }, ANSWER, ''],
      ...(await refused()),
    ].map(([name, token, keys, answer, field]) => ({ name, token, keys, answer: answer ?? null, field }));
    const program = `
import json, sys
sys.path.insert(0, ${JSON.stringify(join(projectRoot, 'sdk', 'python'))})
from assay import ReceiptError, verify_receipt
try:
    import cryptography
    has = True
except ImportError:
    has = False
for case in json.loads(sys.argv[1]):
    try:
        receipt = verify_receipt(case["token"], case["keys"], case["answer"])
        message = ""
        assert receipt["score"] == 100
    except ReceiptError as error:
        message = str(error)
    if has or "cryptography" not in message:
        fits = case["field"] in message if case["field"] else message == ""
        assert fits, (case["name"], message)
print("verified" if has else "no cryptography")
`;
    const out = await runPython(python, ['-c', program, JSON.stringify(cases)]);
    expect(String(out)).toMatch(/verified|no cryptography/);
  });

  it.skipIf(python === null)('say in Python which package is missing', async () => {
    if (python === null) return;
    const program = `
import json, sys
sys.path.insert(0, ${JSON.stringify(join(projectRoot, 'sdk', 'python'))})
sys.modules["cryptography"] = None
sys.modules["cryptography.exceptions"] = None
from assay import ReceiptError, verify_receipt
try:
    verify_receipt(sys.argv[1], json.loads(sys.argv[2]))
except ReceiptError as error:
    print(error)
`;
    const out = await runPython(python, ['-c', program, jws, JSON.stringify({ keys: [jwk] })]);
    expect(String(out)).toContain('install the package `cryptography`');
  });
});
