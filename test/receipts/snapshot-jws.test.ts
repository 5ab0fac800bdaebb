/** Signed manifests of label snapshots: what holds, and every forgery of a signature, a header or a key. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ReceiptJwk } from '../../src/receipts/jws.ts';
import { thumbprintOf } from '../../src/receipts/keys.ts';
import { signManifest, verifyManifest } from '../../src/receipts/snapshot-jws.ts';
import { NOW_SECONDS, receiptWith, signedJws } from './world.ts';

const MANIFEST = { version: 'v7', files: [{ name: 'labels.bin', sha256: 'ab'.repeat(32) }] };

const encoded = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

function newKey() {
  const { privateKey } = generateKeyPairSync('ed25519');
  const x = String(privateKey.export({ format: 'jwk' }).x);
  const kid = thumbprintOf(x);
  const iat = NOW_SECONDS - 100;
  const jwk: ReceiptJwk = { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'Ed25519', use: 'sig', iat };
  const signer = { kid, sign: async (bytes: Uint8Array) => sign(null, bytes, privateKey) };
  /** A manifest with any header, signed with this key. */
  const forged = (header: unknown): string => {
    const text = `${encoded(header)}.${encoded(MANIFEST)}`;
    return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
  };
  return { jwk, kid, privateKey, signer, forged };
}

describe('a signed manifest', () => {
  let key: ReturnType<typeof newKey>;
  let jws: string;
  const jwks = () => ({ keys: [newKey().jwk, key.jwk] });
  const header = () => ({ alg: 'Ed25519', kid: key.kid, typ: 'assay-snapshot+jws' });

  beforeEach(async () => {
    key = newKey();
    jws = await signManifest(MANIFEST, key.signer);
  });

  it('holds with the key that signed it, also with a newline at the end', () => {
    for (const text of [jws, `${jws}\n`, key.forged(header())])
      expect(verifyManifest(text, jwks())).toEqual({ manifest: MANIFEST, kid: key.kid });
  });

  it.each<[string, (value: string) => string, string?]>([
    [
      'another algorithm',
      () => key.forged({ ...header(), alg: 'none' }),
      'must be of type assay-snapshot+jws',
    ],
    [
      'another type',
      () => key.forged({ ...header(), typ: 'assay-receipt+jws' }),
      'must be of type assay-snapshot+jws',
    ],
    ['no type', () => key.forged({ alg: 'Ed25519', kid: key.kid }), 'must be of type assay-snapshot+jws'],
    ['no key', () => key.forged({ alg: 'Ed25519', typ: 'assay-snapshot+jws' })],
    ['the key of another installation', () => key.forged({ ...header(), kid: newKey().kid })],
    ['a header that is not JSON', () => key.forged('{'), 'the header is not JSON'],
    ['a header that is not an object', () => key.forged(null), 'must be of type assay-snapshot+jws'],
    ['a fourth part', (text) => `${text}.AA`],
    ['two parts', (text) => text.split('.').slice(0, 2).join('.')],
    ['nothing', () => ''],
    ['another content', (text) => text.replace(/\.[^.]*\./, `.${encoded({ ...MANIFEST, version: 'v8' })}.`)],
    ['half a signature', (text) => text.slice(0, -43)],
    ['a byte behind the signature', (text) => `${text}AAAA`],
    ['a receipt in its place', () => signedJws(receiptWith(), key.kid, key.privateKey)],
  ])('is refused with %s', (_, change, problem = '') => {
    expect(() => verifyManifest(change(jws), jwks())).toThrow(`manifest: ${problem}`);
  });
});
