/** Verifies receipts as JWS: the part of a verifier, which the server that signs them does not need. */
import { createPublicKey, verify } from 'node:crypto';
import { AssayError, messageOf } from '../base/errors.ts';
import { canonicalJson } from './canonical.ts';
import { RECEIPT_ALGORITHM, RECEIPT_JWS_TYPE, type ReceiptJwk, type ReceiptJwks } from './jws.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import { receiptBytes } from './receipt.ts';
import { parseReceipt, type Receipt } from './receipt-schema.ts';

const SIGNATURE_BYTES = 64;

const refuse = (what: string): AssayError => new AssayError('INVALID_FILE', `receipt: ${what}.`);

const CHARACTERS = /^[A-Za-z0-9_-]+$/;

function decoded(part: string, name: string): Buffer {
  const bytes = Buffer.from(part, 'base64url');
  // The last character may have unused bits: only one spelling of a signature is accepted.
  if (!CHARACTERS.test(part) || bytes.toString('base64url') !== part)
    throw refuse(`the ${name} is not base64url`);
  return bytes;
}

function objectIn(bytes: Buffer, name: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (cause) {
    throw new AssayError('INVALID_FILE', `receipt: the ${name} is not JSON: ${messageOf(cause)}.`, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse(`the ${name} is not a JSON object`);
  return value as Readonly<Record<string, unknown>>;
}

/** Returns the key id of a header that is exactly the one that `signedPart` writes. */
function kidOf(bytes: Buffer): string {
  const header = objectIn(bytes, 'header');
  const { alg, typ, kid } = header;
  if (alg !== RECEIPT_ALGORITHM) throw refuse(`alg: must be ${RECEIPT_ALGORITHM} (got ${shown(alg)})`);
  if (typ !== RECEIPT_JWS_TYPE) throw refuse(`typ: must be ${RECEIPT_JWS_TYPE} (got ${shown(typ)})`);
  if (typeof kid !== 'string' || kid === '') throw refuse('kid: is missing');
  const other = Object.keys(header).find((name) => name !== 'alg' && name !== 'typ' && name !== 'kid');
  if (other !== undefined) throw refuse(`the header has a member that no receipt has: ${shown(other)}`);
  // A member that is given twice would be read differently by another parser.
  if (!Buffer.from(canonicalJson(header)).equals(bytes))
    throw refuse('the header is not in canonical form (RFC 8785)');
  return kid;
}

const SHOWN_MAX = 64;
const shown = (value: unknown): string => String(JSON.stringify(value)).slice(0, SHOWN_MAX);

export interface VerifiedReceipt {
  readonly receipt: Receipt;
  readonly kid: string;
  readonly signature: Uint8Array;
}

/**
 * Verifies the signature of a receipt, and that its key was in use when it was issued. Whether its verdict has expired, and whether it is
 * about the expected subject, is for the caller to check: the record stays valid for years.
 *
 * @throws INVALID_FILE that says what is wrong
 */
export function verifyJws(jws: string, jwks: ReceiptJwks): VerifiedReceipt {
  if (jws.length > RECEIPT_LIMITS.receiptBytesMax)
    throw refuse(`is longer than ${RECEIPT_LIMITS.receiptBytesMax} bytes`);
  const [header = '', payload = '', signature = '', ...more] = jws.split('.');
  if (signature === '' || more.length > 0) throw refuse('must have three parts, separated by dots');
  const kid = kidOf(decoded(header, 'header'));
  const key = jwks.keys.find((one) => one.kid === kid);
  if (key === undefined) throw refuse(`kid: no key of the JWKS is ${shown(kid)}`);
  const bytes = decoded(signature, 'signature');
  if (bytes.length !== SIGNATURE_BYTES || !isSigned(`${header}.${payload}`, bytes, key))
    throw refuse('the signature is not valid: the receipt was changed, or another key signed it');
  const text = decoded(payload, 'payload');
  const receipt = parseReceipt(objectIn(text, 'payload'));
  // A member that is given twice would be read differently by another parser.
  if (!receiptBytes(receipt).equals(text)) throw refuse('the payload is not in canonical form (RFC 8785)');
  requireInUse(key, receipt);
  return { receipt, kid, signature: bytes };
}

function isSigned(signed: string, signature: Uint8Array, { x }: ReceiptJwk): boolean {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, Buffer.from(signed, 'ascii'), key, signature);
  } catch (cause) {
    throw new AssayError('INVALID_FILE', `JWKS: a key is not valid: ${messageOf(cause)}.`, { cause });
  }
}

function requireInUse({ iat, exp }: ReceiptJwk, { issuedAt }: Receipt): void {
  if (issuedAt < iat)
    throw refuse(`was issued before its key existed (issued at ${issuedAt}, key from ${iat})`);
  if (exp !== undefined && issuedAt > exp)
    throw refuse(`was issued after its key was retired (issued at ${issuedAt}, key until ${exp})`);
}
