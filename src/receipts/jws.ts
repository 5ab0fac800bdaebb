/** Receipts as JWS in compact form (RFC 7515) with Ed25519 (RFC 9864): one algorithm, one type, and no choice for the sender of a token. */
import { AssayError } from '../base/errors.ts';
import { canonicalJson } from './canonical.ts';
import { receiptBytes } from './receipt.ts';
import type { Receipt } from './receipt-schema.ts';

export const RECEIPT_JWS_TYPE = 'assay-receipt+jws';
export const RECEIPT_ALGORITHM = 'Ed25519';

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
    lastHeader = {
      kid,
      text: base64url(canonicalJson({ alg: RECEIPT_ALGORITHM, kid, typ: RECEIPT_JWS_TYPE })),
    };
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
