/** Receipts verified by the clients, without a server: the genuine ones, and those of an attacker. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ReceiptError, verifyReceipt } from '../../sdk/typescript/src/index.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { canonicalJson, canonicalSha256 } from '../../src/receipts/canonical.ts';
import { thumbprintOf } from '../../src/receipts/keys.ts';
import { answerOf, receiptBytes } from '../../src/receipts/receipt.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
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
const REQUEST = { names: [{ name: 'Zoë' }], threshold: 0.8 };
/** Members that are added to a request after it was hashed, or not hashed. */
const SENT = { ...REQUEST, receipt: 'jws', save: true, verifier: 'x' };
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
    requestSha256: canonicalSha256(REQUEST),
  });
  const header = { alg: 'Ed25519', kid, typ: 'assay-receipt+jws' };
  const forged = (head: object, payload: string | Uint8Array): string => {
    const text = `${base64url(JSON.stringify(head))}.${base64url(payload)}`;
    return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
  };
  const headerText = JSON.stringify(header);
  const forgedText = (head: string): string => {
    const text = `${base64url(head)}.${base64url(receiptBytes(receipt))}`;
    return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
  };
  const withMembers = (members: object): string => canonicalJson({ ...receipt, ...members });
  const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  /** The last character of 64 bytes has four unused bits. */
  const respelled = (token: string): string =>
    token.slice(0, -1) + DIGITS[DIGITS.indexOf(token.at(-1) as string) ^ 1];
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
      ['a byte order mark', forged(header, `\ufeff${receiptBytes(receipt)}`), keys, undefined, 'jws'],
      ['another spelling of the signature', respelled(jws), keys, undefined, 'base64url'],
      ['two algorithms', forgedText(`{"alg":"none",${headerText.slice(1)}`), keys, undefined, 'alg'],
      ['no key id', forged({ ...header, kid: undefined }, receiptBytes(receipt)), keys, undefined, 'k'],
      ['a header that is nested', forgedText(`{"a":${'['.repeat(9_000)}`), keys, undefined, 'jws'],
      [
        'a verdict without an end',
        forged(header, withMembers({ expiresAt: undefined })),
        keys,
        undefined,
        'jws',
      ],
      ['an end that is a text', forged(header, withMembers({ expiresAt: '9' })), keys, undefined, 'jws'],
      ['a subject that is a text', forged(header, withMembers({ subject: 'x' })), keys, undefined, 'jws'],
      ['a version that is true', forged(header, withMembers({ v: true })), keys, undefined, 'jws'],
      [
        'a verdict of the future',
        await signed({ ...receipt, issuedAt: now + 3_600, expiresAt: now + 4_500 }),
        keys,
        undefined,
        'issuedAt',
      ],
      ['no list of keys', jws, {}, undefined, 'JWKS'],
      ['a key of another kind', jws, { keys: [{ ...jwk, kty: 'EC', crv: 'P-256' }] }, undefined, 'kid'],
      ['a key without its begin', jws, { keys: [{ ...jwk, iat: undefined }] }, undefined, 'kid'],
      ['a key without its end', jws, { keys: [{ ...jwk, exp: 'never' }] }, undefined, 'kid'],
      ['a key without its bytes', jws, { keys: [{ ...jwk, x: undefined }] }, undefined, 'kid'],
      ['a key that is too short', jws, { keys: [{ ...jwk, x: 'AAAA' }] }, undefined, 's'],
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
    const others = { keys: [null, 7, { kty: 'RSA', n: 'x' }, jwk] } as unknown as { keys: [typeof jwk] };
    expect(await verifyReceipt(jws, others, { request: SENT })).toEqual(receipt);
    const wrong = verifyReceipt(jws, keys, { request: { ...SENT, names: [{ name: 'Zoe' }] } });
    await expect(wrong).rejects.toThrow('request: the receipt is of another request');
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
given = json.load(open(sys.argv[1], encoding='utf-8'))
genuine = given[0]
for changes, message in (
    ({"request": {"names": [{"name": "Zoë"}], "threshold": 0.8, "receipt": "jws", "save": True}}, ""),
    ({"request": {"names": [{"name": "Zoe"}], "threshold": 0.8}}, "request: the receipt is of another"),
    ({"answer": {"x": "\\ud800"}}, "answer: is not JSON data"),
    ({"answer": {"x": b"1"}}, "answer: is not JSON data"),
    ({"answer": {"x": 10**400}}, "answer: is not JSON data"),
    ({"answer": json.loads('{"x":' * 900 + "1" + "}" * 900)}, "answer: is not "),
    ({"jwks": {"keys": [None, 7, {"kty": "RSA"}, genuine["keys"]["keys"][0]]}}, ""),
    # As a proxy writes it again.
    ({"answer": {**given[1]["answer"], "large": 402393681778563712}}, ""),
):
    try:
        verify_receipt(**{"jws": genuine["token"], "jwks": genuine["keys"], **changes})
        found = ""
    except ReceiptError as error:
        found = str(error)
    assert not has or (found.startswith(message) if message else found == ""), (changes, found)
for case in given:
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
    // As a file: they are longer than an argument may be.
    const folder = tempFolder();
    writeFileSync(join(folder.path, 'cases.json'), JSON.stringify(cases));
    const out = await runPython(python, ['-c', program, join(folder.path, 'cases.json')]);
    folder.remove();
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
