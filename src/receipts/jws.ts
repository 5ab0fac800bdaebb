/** Receipts as JWS in compact form (RFC 7515) with Ed25519 (RFC 9864): one algorithm, one type, and no choice for the sender of a token. */
import { createPublicKey, verify } from 'node:crypto';
import { AssayError, messageOf } from '../base/errors.ts';
import { canonicalJson } from './canonical.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import { parseReceipt, type Receipt, receiptBytes } from './receipt.ts';

export const RECEIPT_JWS_TYPE = 'assay-receipt+jws';
const ALGORITHM = 'Ed25519';
const SIGNATURE_BYTES = 64;

/** A public key as a JWK (RFC 7517, RFC 8037). */
export interface ReceiptJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly alg: 'Ed25519';
  readonly use: 'sig';
  /** Seconds since 1970: receipts of an earlier time are not valid. */
  readonly iat: number;
  /** Of a retired key, seconds since 1970: receipts of a later time are not valid. */
  readonly exp?: number;
}

export interface ReceiptJwks {
  readonly keys: readonly ReceiptJwk[];
}

/** A key that signs receipts. */
export interface ReceiptSigner {
  readonly kid: string;
  /**
   * Returns the Ed25519 signature, 64 bytes.
   *
   * @param bytes - valid until the call returns: an implementation that reads them later copies them
   */
  sign(bytes: Uint8Array): Promise<Uint8Array>;
}

/** Returns bytes, or the bytes of a text in UTF-8, as base64url. */
export const base64url = (bytes: string | Uint8Array): string =>
  (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes)).toString('base64url');

/** The last header: that of the active key. */
let lastHeader = { kid: '', text: '' };

function headerOf(kid: string): string {
  if (lastHeader.kid !== kid)
    lastHeader = { kid, text: base64url(canonicalJson({ alg: ALGORITHM, kid, typ: RECEIPT_JWS_TYPE })) };
  return lastHeader.text;
}

/**
 * Returns the first two parts of a JWS: the text that is signed.
 *
 * @param encoded - the canonical bytes of a receipt as base64url
 */
export const signedPart = (kid: string, encoded: string): string => `${headerOf(kid)}.${encoded}`;

/** Returns the JWS of a receipt with a known signature. */
export const compactJws = (receipt: Receipt, kid: string, signature: Uint8Array): string =>
  `${signedPart(kid, base64url(receiptBytes(receipt)))}.${base64url(signature)}`;

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
  if (alg !== ALGORITHM) throw refuse(`alg: must be ${ALGORITHM} (got ${shown(alg)})`);
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

/**
 * Returns the keys of a JWKS document. Keys of other kinds are ignored, as RFC 7517 requires.
 *
 * @throws INVALID_FILE if it is no JWKS
 */
export function parseJwks(value: unknown): ReceiptJwks {
  const { keys } = (typeof value === 'object' && value !== null ? value : {}) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new AssayError('INVALID_FILE', 'JWKS: must be an object with `keys`.');
  return { keys: keys.filter(isReceiptJwk) };
}

const isSeconds = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

function isReceiptJwk(value: unknown): value is ReceiptJwk {
  if (typeof value !== 'object' || value === null) return false;
  const { kty, crv, x, kid, iat, exp } = value as Record<string, unknown>;
  const isKey = kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' && typeof kid === 'string';
  return isKey && isSeconds(iat) && (exp === undefined || isSeconds(exp));
}

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
