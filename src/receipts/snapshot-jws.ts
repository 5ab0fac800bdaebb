/**
 * Manifests of label snapshots as JWS in compact form (RFC 7515) with Ed25519 (RFC 9864), signed with the installation's key of receipts.
 * The type in the header keeps a manifest and a receipt apart: neither is valid as the other.
 */
import { createPublicKey, verify } from 'node:crypto';
import { AssayError } from '../base/errors.ts';
import { canonicalJson } from './canonical.ts';
import type { ReceiptJwks, ReceiptSigner } from './jws.ts';

const TYPE = 'assay-snapshot+jws';
const ALGORITHM = 'Ed25519';
const SIGNATURE_BYTES = 64;

const base64url = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('base64url');

/** Signs a manifest; returns the JWS. */
export async function signManifest(manifest: object, signer: ReceiptSigner): Promise<string> {
  const header = base64url(canonicalJson({ alg: ALGORITHM, kid: signer.kid, typ: TYPE }));
  const signed = `${header}.${base64url(canonicalJson(manifest))}`;
  return `${signed}.${base64url(await signer.sign(Buffer.from(signed, 'ascii')))}`;
}

/**
 * Verifies the signature of a manifest.
 *
 * @returns the manifest and the id of the key
 * @throws INVALID_FILE if it is no manifest, its key is not among `jwks`, or the signature does not hold
 */
export function verifyManifest(
  jws: string,
  jwks: ReceiptJwks,
): { readonly manifest: unknown; readonly kid: string } {
  const refuse = (what: string): never => {
    throw new AssayError('INVALID_FILE', `manifest: ${what}.`);
  };
  const [header, payload, signature, more] = jws.trim().split('.');
  if (header === undefined || payload === undefined || signature === undefined || more !== undefined)
    return refuse('is not a JWS in compact form');
  let head: Readonly<Record<string, unknown>> | null;
  try {
    head = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'));
  } catch {
    return refuse('the header is not JSON');
  }
  if (head?.alg !== ALGORITHM || head.typ !== TYPE)
    return refuse(`must be of type ${TYPE}, signed with ${ALGORITHM}`);
  const { kid } = head;
  const key = jwks.keys.find((one) => one.kid === kid);
  if (key === undefined) return refuse('was signed with a key that is not among the given ones');
  const bytes = Buffer.from(signature, 'base64url');
  const { kty, crv, x } = key;
  const publicKey = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
  const isValid =
    bytes.length === SIGNATURE_BYTES &&
    verify(null, Buffer.from(`${header}.${payload}`, 'ascii'), publicKey, bytes);
  if (!isValid) return refuse('the signature does not hold');
  return { manifest: JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')), kid: key.kid };
}
