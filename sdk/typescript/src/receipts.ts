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
  /**
   * The request as it was sent: the body, or `{ chain, address }` of the oracle and of a check of sanctions. If it is given, the receipt must
   * be of this request, and not of another one.
   */
  readonly request?: Readonly<Record<string, unknown>> | undefined;
  /** Accept a verdict that has expired: for records, not for decisions. Default: false. */
  readonly allowExpired?: boolean | undefined;
}

const TYPE = 'assay-receipt+jws';
const LENGTH_MAX = 65_536;
const KEY_BYTES = 32;
/** Members of an answer that are added after it was hashed. */
const ADDED = ['receipt', 'screeningId', 'ignored'];
/** Fields of a request that are not part of its hash: they do not change the answer. */
const UNHASHED = ['receipt', 'verifier', 'save'];
/** Seconds by which the clock of the issuer may be ahead, as AssayVerifier.sol has it. */
const AHEAD_MAX = 60;

/** Returns the canonical text of JSON data. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Decodes base64url. The last character may have unused bits: only one spelling is accepted. */
export function bytesOf(part: string): Uint8Array {
  try {
    const base64 = part.replaceAll('-', '+').replaceAll('_', '/');
    const text = atob(base64);
    if (!/^[\w-]+$/.test(part) || btoa(text).replaceAll('=', '') !== base64) throw new Error();
    return Uint8Array.from(text, (character) => character.charCodeAt(0));
  } catch {
    throw new ReceiptError('jws: a part is not base64url.');
  }
}

type Values = Readonly<Record<string, unknown>>;

function objectIn(part: string): { readonly text: string; readonly value: Values } {
  let [text, value]: [string, unknown] = ['', null];
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(part));
    value = JSON.parse(text);
  } catch (error) {
    throw error instanceof ReceiptError ? error : new ReceiptError('jws: a part is not JSON.');
  }
  if (typeof value !== 'object' || value === null)
    throw new ReceiptError('jws: a part is not a JSON object.');
  return { text, value: value as Values };
}

type Key = Jwks['keys'][number];

const isKeyOf = (key: Partial<Key> | null, kid: string): boolean =>
  key !== null &&
  key.kid === kid &&
  key.kty === 'OKP' &&
  key.crv === 'Ed25519' &&
  typeof key.x === 'string' &&
  Number.isSafeInteger(key.iat) &&
  (key.exp === undefined || Number.isSafeInteger(key.exp));

/** Returns the Ed25519 key of a JWKS with an id. Keys of other kinds are ignored, as RFC 7517 requires. */
function keyOf(jwks: Partial<Jwks> | null, kid: unknown): Key {
  const { keys } = jwks ?? {};
  if (!Array.isArray(keys)) throw new ReceiptError('JWKS: must be an object with `keys`.');
  const key = typeof kid === 'string' ? (keys as readonly Key[]).find((one) => isKeyOf(one, kid)) : undefined;
  if (key === undefined) throw new ReceiptError('kid: no key of the JWKS has this id.');
  return key;
}

/** Whether the members that decide about a receipt have their types: one without an end must not live for ever. */
const isReceipt = ({
  v,
  id,
  subject,
  answerSha256,
  requestSha256,
  issuedAt,
  expiresAt,
  lines,
}: Values): boolean =>
  v === 1 &&
  [id, answerSha256, requestSha256].every((text) => typeof text === 'string') &&
  [issuedAt, expiresAt].every((seconds) => Number.isSafeInteger(seconds)) &&
  Array.isArray(subject) &&
  subject.every((account) => typeof account === 'string') &&
  typeof lines === 'object';

const without = (values: Values, names: readonly string[]): Values =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));

const sha256 = async (text: string): Promise<string> => {
  const { subtle } = await webCrypto();
  return hexOf(new Uint8Array(await subtle.digest('SHA-256', utf8(text))));
};

/** Returns the SHA-256 of the canonical text of JSON data, as a receipt binds it. */
export const canonicalSha256 = (value: unknown): Promise<string> => sha256(canonical(value));

/** Returns bytes as hexadecimal digits. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Verifies a receipt, and returns the facts that it binds. Pass the request, or check that `subject` is the address that you asked about: a
 * receipt of another address is genuine, too.
 *
 * @param jws - `receipt.jws` of a response
 * @param jwks - `await assay.receipts.jwks()`; keep it, and fetch it again if a key is unknown
 * @throws ReceiptError if the receipt is not genuine, or its verdict has expired
 * @example
 * const data = await assay.oracle.check({ chain: 'ETH', address, receipt: 'jws' });
 * const { verdict } = await verifyReceipt(data.receipt.jws, jwks, { answer: data, request: { chain: 'ETH', address } });
 */
export async function verifyReceipt(
  jws: string,
  jwks: Jwks,
  { answer, request, allowExpired = false }: VerifyReceiptOptions = {},
): Promise<Receipt> {
  const parts = String(jws).split('.');
  const [head = '', body = '', tail = ''] = parts;
  if (jws.length > LENGTH_MAX || parts.length !== 3) throw new ReceiptError('jws: must have three parts.');
  const { text: header, value: members } = objectIn(head);
  const { kid } = members;
  // Exactly these members, each once: a token must not bring its own key, or mean two algorithms.
  if (header !== `{"alg":"Ed25519","kid":${JSON.stringify(kid)},"typ":"${TYPE}"}`)
    throw new ReceiptError(`jws: the header must have alg Ed25519, kid and typ ${TYPE}.`);
  const jwk = keyOf(jwks, kid);
  if (!(await isSigned(`${head}.${body}`, tail, jwk.x)))
    throw new ReceiptError('jws: the signature is not valid.');
  const { text, value } = objectIn(body);
  if (!isReceipt(value) || canonical(value) !== text)
    throw new ReceiptError('jws: the payload is not a receipt of version 1 in canonical form.');
  const receipt = value as unknown as Receipt;
  if (receipt.issuedAt < jwk.iat || (jwk.exp !== undefined && receipt.issuedAt > jwk.exp))
    throw new ReceiptError('kid: the key was not in use when the receipt was issued.');
  const now = Date.now() / 1_000;
  if (!allowExpired && receipt.expiresAt <= now)
    throw new ReceiptError('expiresAt: the verdict has expired.');
  if (!allowExpired && receipt.issuedAt > now + AHEAD_MAX)
    throw new ReceiptError(
      'issuedAt: is in the future: the clock of the issuer or of this machine is wrong.',
    );
  if (answer !== undefined && (await canonicalSha256(without(answer, ADDED))) !== receipt.answerSha256)
    throw new ReceiptError('answer: is not the one that was signed.');
  if (request !== undefined && (await canonicalSha256(without(request, UNHASHED))) !== receipt.requestSha256)
    throw new ReceiptError('request: the receipt is of another request.');
  return receipt;
}

async function isSigned(signed: string, signature: string, x: string): Promise<boolean> {
  const { subtle } = await webCrypto();
  const [raw, bytes] = [bytesOf(x), bytesOf(signature)];
  if (raw.length !== KEY_BYTES) throw new ReceiptError('JWKS: the key must have 32 bytes.');
  const key = await subtle.importKey('raw', raw, { name: 'Ed25519' }, false, ['verify']);
  return subtle.verify('Ed25519', key, bytes, utf8(signed));
}
