/** Verification of signed receipts, without the server: JWS with Ed25519 over canonical JSON (RFC 8785). */
import { webCrypto } from './core/crypto.ts';
import { ReceiptError } from './core/errors.ts';
import type { Jwks } from './generated/api.ts';

/** The facts that a receipt binds. All hashes are SHA-256, hexadecimal; times are seconds since 1970. */
export interface Receipt {
  readonly v: 1;
  readonly id: string;
  readonly kind: 'SCREENING' | 'KYT' | 'ORACLE' | 'SANCTIONS' | 'NAMES' | 'BULK' | 'BATCH';
  /** CAIP-10 of the address; of KYT with two parties, the sender, then the receiver. */
  readonly subject: readonly string[];
  readonly requestSha256: string;
  readonly answerSha256: string;
  readonly verdict: string | null;
  /** 0 to 100. */
  readonly score: number | null;
  readonly riskLevel: string | null;
  readonly sanctioned: boolean | null;
  readonly reasonCodes: readonly string[];
  readonly assessed: boolean | null;
  /** The day of the verdict, if the request named one: such a receipt has expired when it is issued. Null for now. */
  readonly asOf: string | null;
  /** Fields of the request that made it read less than by default, such as `maxHops=1`: such a receipt has expired when it is issued. */
  readonly narrowed: readonly string[];
  readonly dataVersion: string;
  readonly policyVersion: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly issuer: string;
  /** Of BULK and BATCH: the lines that the receipt binds, and the root of their tree. Null for the others. */
  readonly lines: { readonly count: number; readonly root: string } | null;
  readonly [member: string]: unknown;
}

export interface VerifyReceiptOptions {
  /** `data` of the response with the receipt. If it is given, it must be the answer that was signed. */
  readonly answer?: Readonly<Record<string, unknown>> | undefined;
  /** Accept a verdict that has expired: for records, not for decisions. Default: false. */
  readonly allowExpired?: boolean | undefined;
}

const TYPE = 'assay-receipt+jws';
const LENGTH_MAX = 65_536;
/** Members of an answer that are added after it was hashed. */
const ADDED = ['receipt', 'screeningId', 'ignored'];

/** Returns the canonical text of JSON data. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Decodes base64url. */
export function bytesOf(part: string): Uint8Array {
  try {
    if (!/^[\w-]+$/.test(part)) throw new Error();
    const text = atob(part.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(text, (character) => character.charCodeAt(0));
  } catch {
    throw new ReceiptError('jws: a part is not base64url.');
  }
}

function objectIn(part: string): {
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
} {
  const text = new TextDecoder().decode(bytesOf(part));
  try {
    return { text, value: JSON.parse(text) as Readonly<Record<string, unknown>> };
  } catch {
    throw new ReceiptError('jws: a part is not JSON.');
  }
}

const sha256 = async (text: string): Promise<string> => {
  const { subtle } = await webCrypto();
  return hexOf(new Uint8Array(await subtle.digest('SHA-256', utf8(text))));
};

/** Returns bytes as hexadecimal digits. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Verifies a receipt, and returns the facts that it binds. Check that `subject` is the address that you asked about: a receipt of another
 * address is genuine, too.
 *
 * @param jws - `receipt.jws` of a response
 * @param jwks - `await assay.receipts.jwks()`; keep it, and fetch it again if a key is unknown
 * @throws ReceiptError if the receipt is not genuine, or its verdict has expired
 * @example
 * const data = await assay.oracle.check({ chain: 'ETH', address, receipt: 'jws' });
 * const { verdict, subject } = await verifyReceipt(data.receipt.jws, jwks, { answer: data });
 */
export async function verifyReceipt(
  jws: string,
  jwks: Jwks,
  { answer, allowExpired = false }: VerifyReceiptOptions = {},
): Promise<Receipt> {
  const parts = jws.split('.');
  const [head = '', body = '', tail = ''] = parts;
  if (jws.length > LENGTH_MAX || parts.length !== 3) throw new ReceiptError('jws: must have three parts.');
  const { kid, ...rest } = objectIn(head).value ?? {};
  if (canonical(rest) !== `{"alg":"Ed25519","typ":"${TYPE}"}`)
    throw new ReceiptError(`jws: the header must have alg Ed25519 and typ ${TYPE}.`);
  const jwk = jwks.keys.find((key) => key.kid === kid);
  if (jwk === undefined) throw new ReceiptError('kid: no key of the JWKS has this id.');
  const { subtle } = await webCrypto();
  const key = await subtle.importKey('raw', bytesOf(jwk.x), { name: 'Ed25519' }, false, ['verify']);
  if (!(await subtle.verify('Ed25519', key, bytesOf(tail), utf8(`${head}.${body}`))))
    throw new ReceiptError('jws: the signature is not valid.');
  const { text, value } = objectIn(body);
  const receipt = value as unknown as Receipt;
  if (receipt?.v !== 1 || canonical(receipt) !== text)
    throw new ReceiptError('jws: the payload is not a receipt of version 1 in canonical form.');
  if (receipt.issuedAt < jwk.iat || (jwk.exp !== undefined && receipt.issuedAt > jwk.exp))
    throw new ReceiptError('kid: the key was not in use when the receipt was issued.');
  if (!allowExpired && receipt.expiresAt <= Date.now() / 1_000)
    throw new ReceiptError('expiresAt: the verdict has expired.');
  if (answer !== undefined) {
    const signed = Object.fromEntries(Object.entries(answer).filter(([name]) => !ADDED.includes(name)));
    if ((await sha256(canonical(signed))) !== receipt.answerSha256)
      throw new ReceiptError('answer: is not the one that was signed.');
  }
  return receipt;
}
