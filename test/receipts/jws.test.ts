/** Receipts as JWS: verified by an independent implementation, and attacked. */
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { compactVerify, importJWK } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseJwks, type ReceiptJwk } from '../../src/receipts/jws.ts';
import { thumbprintOf } from '../../src/receipts/keys.ts';
import { RECEIPT_LIMITS } from '../../src/receipts/limits.ts';
import { receiptBytes } from '../../src/receipts/receipt.ts';
import type { Receipt } from '../../src/receipts/receipt-schema.ts';
import { verifyJws } from '../../src/receipts/verify-jws.ts';
import { NOW_SECONDS, receiptWith, signedJws } from './world.ts';

function newKey(more: Partial<ReceiptJwk> = {}) {
  const { privateKey } = generateKeyPairSync('ed25519');
  const x = String(privateKey.export({ format: 'jwk' }).x);
  const kid = thumbprintOf(x);
  const jwk = {
    kty: 'OKP',
    crv: 'Ed25519',
    x,
    kid,
    alg: 'Ed25519',
    use: 'sig',
    iat: NOW_SECONDS - 100,
    ...more,
  } as const;
  const signed = async (receipt: Receipt): Promise<string> => signedJws(receipt, kid, privateKey);
  /** A JWS with any header and payload, signed with this key. */
  const forged = (header: object, payload: string | Uint8Array): string =>
    signedText(`${base64url(JSON.stringify(header))}.${base64url(payload)}`);
  const signedText = (text: string): string =>
    `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
  return { jwk, kid, signed, forged, signedText };
}

const base64url = (text: string | Uint8Array): string => Buffer.from(text).toString('base64url');

describe('a receipt as JWS', () => {
  let key: ReturnType<typeof newKey>;
  let jws: string;
  const receipt = receiptWith();
  const jwks = () => ({ keys: [key.jwk] });
  const header = () => ({ alg: 'Ed25519', kid: key.kid, typ: 'assay-receipt+jws' });

  beforeEach(async () => {
    key = newKey();
    jws = await key.signed(receipt);
  });

  it('verifies, and is the receipt', () => {
    expect(verifyJws(jws, jwks()).receipt).toEqual(receipt);
  });

  it('verifies with jose', async () => {
    const { payload, protectedHeader } = await compactVerify(jws, await importJWK(key.jwk, 'Ed25519'), {
      algorithms: ['Ed25519'],
    });
    expect(JSON.parse(Buffer.from(payload).toString())).toEqual(receipt);
    expect(protectedHeader).toEqual(header());
  });

  it.each<[string, (part: readonly string[]) => string]>([
    [
      'an altered payload',
      ([head, , tail]) => [head, base64url(receiptBytes(receiptWith({ score: 0 }))), tail].join('.'),
    ],
    [
      'the payload of a receipt for another subject',
      ([head, , tail]) =>
        [
          head,
          base64url(
            receiptBytes(receiptWith({ subject: ['eip155:1:0x0000000000000000000000000000000000000001'] })),
          ),
          tail,
        ].join('.'),
    ],
    [
      'an altered signature',
      ([head, body, tail = '']) => [head, body, (tail[0] === 'A' ? 'B' : 'A') + tail.slice(1)].join('.'),
    ],
    ['a signature that is cut', ([head, body, tail = '']) => [head, body, tail.slice(0, 40)].join('.')],
    ['a signature of zeros', ([head, body]) => [head, body, base64url(Buffer.alloc(64))].join('.')],
  ])('is refused with %s', (_, alter) => {
    expect(() => verifyJws(alter(jws.split('.')), jwks())).toThrow('the signature is not valid');
  });

  it('is refused with another spelling of the same signature', () => {
    const last = jws.at(-1) as string;
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // The last character of 64 bytes has four unused bits.
    const other = digits[digits.indexOf(last) ^ 1];
    expect(() => verifyJws(jws.slice(0, -1) + other, jwks())).toThrow('is not base64url');
  });

  it.each([
    ['none', { alg: 'none' }],
    ['None', { alg: 'None' }],
    ['HS256', { alg: 'HS256' }],
    ['EdDSA', { alg: 'EdDSA' }],
    ['no algorithm', { alg: undefined }],
  ])('is refused with the algorithm %s', (_, more) => {
    expect(() => verifyJws(key.forged({ ...header(), ...more }, receiptBytes(receipt)), jwks())).toThrow(
      'alg: must be Ed25519',
    );
  });

  it('is refused unsigned, and with a MAC made with the public key', () => {
    const unsigned = `${base64url(JSON.stringify({ ...header(), alg: 'none' }))}.${base64url(receiptBytes(receipt))}.`;
    expect(() => verifyJws(unsigned, jwks())).toThrow('three parts');
    const signed = key.forged(header(), receiptBytes(receipt));
    expect(verifyJws(signed, jwks()).kid).toBe(key.jwk.kid);
    expect(() => verifyJws(`${signed}.e30`, jwks())).toThrow('three parts');
    const text = `${base64url(JSON.stringify({ ...header(), alg: 'HS256' }))}.${base64url(receiptBytes(receipt))}`;
    for (const secret of [key.jwk.x, Buffer.from(key.jwk.x, 'base64url')]) {
      const mac = createHmac('sha256', secret).update(text).digest('base64url');
      expect(() => verifyJws(`${text}.${mac}`, jwks())).toThrow('alg: must be Ed25519');
    }
  });

  it('is refused with a key in its header, or with any other member there', () => {
    const mine = newKey();
    for (const more of [
      { jwk: mine.jwk },
      { jku: 'https://evil.example/jwks' },
      { crit: ['b64'], b64: false },
    ])
      expect(() => verifyJws(mine.forged({ ...header(), ...more }, receiptBytes(receipt)), jwks())).toThrow(
        'member that no receipt has',
      );
  });

  it('is refused as a token of another type', () => {
    expect(() => verifyJws(key.forged({ ...header(), typ: 'JWT' }, receiptBytes(receipt)), jwks())).toThrow(
      'typ: must be',
    );
  });

  it.each([
    ['an empty key id', { kid: '' }],
    ['no key id', { kid: undefined }],
    ['a number as key id', { kid: 7 }],
  ])('is refused with %s', (_, more) => {
    expect(() => verifyJws(key.forged({ ...header(), ...more }, receiptBytes(receipt)), jwks())).toThrow(
      'kid: is missing',
    );
  });

  it.each([
    ['null', null],
    ['a list', []],
    ['a text', 'alg'],
  ])('is refused if its header is %s', (_, value) => {
    expect(() => verifyJws(key.forged(value as unknown as object, receiptBytes(receipt)), jwks())).toThrow(
      'the header is not a JSON object',
    );
  });

  it('is refused with an unknown key, and with the key of another id', async () => {
    const other = newKey();
    expect(() => verifyJws(jws, { keys: [other.jwk] })).toThrow('no key of the JWKS');
    expect(() => verifyJws(jws, { keys: [{ ...other.jwk, kid: key.kid }] })).toThrow(
      'the signature is not valid',
    );
  });

  it('is refused if it was issued after the end of its key, and accepted before', async () => {
    const retired = (exp: number) => ({ keys: [{ ...key.jwk, exp }] });
    expect(verifyJws(jws, retired(NOW_SECONDS)).receipt.id).toBe(receipt.id);
    expect(() => verifyJws(jws, retired(NOW_SECONDS - 1))).toThrow('after its key was retired');
    expect(verifyJws(jws, { keys: [{ ...key.jwk, iat: NOW_SECONDS }] }).receipt.id).toBe(receipt.id);
    expect(() => verifyJws(jws, { keys: [{ ...key.jwk, iat: NOW_SECONDS + 1 }] })).toThrow(
      'before its key existed',
    );
  });

  it('is refused if the payload is not canonical, or has a member twice', () => {
    const text = receiptBytes(receipt).toString();
    for (const other of [
      ` ${text}`,
      text.replace('"score":100', '"score":1e2'),
      text.replace('"score":100', '"score":0,"score":100'),
    ])
      expect(() => verifyJws(key.forged(header(), other), jwks())).toThrow('canonical');
  });

  it.each([
    ['an unknown member', { ...receipt, extra: 1 }],
    ['a missing member', { ...receipt, salt: undefined }],
    ['a float', { ...receipt, score: 99.5 }],
    ['a score above 100', { ...receipt, score: 101 }],
    ['another version', { ...receipt, v: 2 }],
    ['too many subjects', { ...receipt, subject: ['a', 'b', 'c'] }],
    ['null', null],
    ['a list', []],
  ])('is refused with %s', (_, payload) => {
    expect(() => verifyJws(key.forged(header(), JSON.stringify(payload)), jwks())).toThrow('receipt: ');
  });

  it('is refused with a header that has a member twice, or another order', () => {
    const body = base64url(receiptBytes(receipt));
    const { alg, kid, typ } = header();
    for (const head of [
      `{"alg":"none","alg":"${alg}","kid":"${kid}","typ":"${typ}"}`,
      `{"kid":"${kid}","alg":"${alg}","typ":"${typ}"}`,
    ])
      expect(() => verifyJws(key.signedText(`${base64url(head)}.${body}`), jwks())).toThrow(
        'the header is not in canonical form',
      );
  });

  it('is refused if it is not UTF-8, or not JSON', () => {
    expect(() => verifyJws(key.forged(header(), Buffer.from([0xff, 0xfe])), jwks())).toThrow('is not JSON');
    expect(() => verifyJws(key.forged(header(), '{"a":'), jwks())).toThrow('is not JSON');
  });

  it.each(['', '.', '..', 'a.b', 'a.b.c.d', 'é.é.é', '!.!.!'])('is refused if it is %j', (text) => {
    expect(() => verifyJws(text, jwks())).toThrow('receipt: ');
  });

  it('is refused above its size, before it is parsed', () => {
    const longest = 'A'.repeat(RECEIPT_LIMITS.receiptBytesMax - 4);
    expect(() => verifyJws(`${longest}.a.aa`, jwks())).toThrow('is longer than');
    expect(() => verifyJws(`${longest}.a.a`, jwks())).toThrow('the header is not');
  });
});

describe('a JWKS', () => {
  it('ignores keys of other kinds, and refuses what is none', () => {
    const { jwk } = newKey();
    expect(
      parseJwks({ keys: [{ kty: 'RSA', n: 'x' }, jwk, null, 7, { ...jwk, exp: 'never' }] }).keys,
    ).toEqual([jwk]);
    const retired = { ...jwk, iat: 0, exp: 0 };
    expect(parseJwks({ keys: [retired] }).keys).toEqual([retired]);
    for (const other of [
      { kty: 'EC' },
      { crv: 'X25519' },
      { x: 7 },
      { kid: undefined },
      { iat: undefined },
      { iat: -1 },
      { iat: 0.5 },
      { exp: -1 },
    ])
      expect(parseJwks({ keys: [{ ...jwk, ...other }] }).keys, JSON.stringify(other)).toEqual([]);
    for (const value of [null, [], {}, { keys: {} }, 'x']) expect(() => parseJwks(value)).toThrow('JWKS');
  });
});
