/** Proofs of receipts, verified without the server: that a receipt is in the transparency log, and that it binds a line. */
import { webCrypto } from './core/crypto.ts';
import { ReceiptError } from './core/errors.ts';
import { bytesOf, hexOf, type Receipt, utf8 } from './receipts.ts';

const LEAF = 0;
const NODE = 1;
/** Ed25519 of a log, as C2SP signed-note numbers it. */
const ED25519 = 1;
const KEY_ID_BYTES = 4;
const HASH_BYTES = 32;
const SALT_DIGITS = 32;
const PATH_MAX = 63;
const PROOF_CHARS_MAX = 110_000;
const FIRST_LINE = 'c2sp.org/tlog-proof@v1';

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

async function sha256(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const { subtle } = await webCrypto();
  return new Uint8Array(await subtle.digest('SHA-256', joined(...parts)));
}

function base64(text: string, field: string): Uint8Array {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text))
    throw new ReceiptError(`${field}: must be base64.`);
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function hex(text: string, field: string, digits: number): Uint8Array {
  if (!/^[0-9a-f]*$/.test(text) || text.length !== digits)
    throw new ReceiptError(`${field}: must have ${digits} hexadecimal digits.`);
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}

function whole(text: string, field: string): number {
  const value = Number(text);
  if (!/^(?:0|[1-9]\d*)$/.test(text) || !Number.isSafeInteger(value))
    throw new ReceiptError(`${field}: must be a whole number.`);
  return value;
}

/** Returns the root that a proof of inclusion leads to (RFC 9162, section 2.1.3.2); null if the proof does not fit the tree. */
async function rootOf(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Promise<string | null> {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size || path.length > PATH_MAX) return null;
  let [node, last, hash] = [index, size - 1, leaf];
  for (const sibling of path) {
    if (last === 0 || sibling.length !== HASH_BYTES) return null;
    if (node % 2 === 1 || node === last) {
      hash = await sha256(Uint8Array.of(NODE), sibling, hash);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else hash = await sha256(Uint8Array.of(NODE), hash, sibling);
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 ? hexOf(hash) : null;
}

interface LogKey {
  readonly name: string;
  readonly id: Uint8Array;
  readonly key: Uint8Array;
}

/** Parses `name+id+key`. */
async function logKeyOf(text: string): Promise<LogKey> {
  const [, name = '', id = '', encoded = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  const bytes = base64(encoded, 'key');
  const key = bytes.subarray(1);
  if (name === '' || bytes[0] !== ED25519 || key.length !== HASH_BYTES)
    throw new ReceiptError('key: must be the key of a log, NAME+ID+KEY; `assay log key` shows it.');
  const digest = await sha256(utf8(`${name}\n`), bytes);
  if (hexOf(digest.subarray(0, KEY_ID_BYTES)) !== id)
    throw new ReceiptError('key: its id is not that of the key.');
  return { name, id: hex(id, 'key', 2 * KEY_ID_BYTES), key };
}

/** Returns size and root of a checkpoint that the log has signed. */
async function checkpointOf(
  text: string,
  { name, id, key }: LogKey,
): Promise<{ size: number; root: string }> {
  const end = text.lastIndexOf('\n\n');
  const signed = text.slice(0, end + 1);
  const [origin, size = '', root = ''] = signed.split('\n');
  if (end < 0 || origin !== name) throw new ReceiptError(`checkpoint: must be of the log ${name}.`);
  const lines = text.slice(end + 2).split('\n');
  const { subtle } = await webCrypto();
  const publicKey = await subtle.importKey('raw', key, { name: 'Ed25519' }, false, ['verify']);
  for (const line of lines.filter((one) => one.startsWith(`— ${name} `))) {
    const bytes = base64(line.slice(`— ${name} `.length), 'checkpoint');
    if (hexOf(bytes.subarray(0, KEY_ID_BYTES)) !== hexOf(id)) continue;
    if (await subtle.verify('Ed25519', publicKey, bytes.subarray(KEY_ID_BYTES), utf8(signed)))
      return { size: whole(size, 'checkpoint'), root: hexOf(base64(root, 'checkpoint')) };
  }
  throw new ReceiptError('checkpoint: has no valid signature of the log.');
}

/** A receipt that is in the log. */
export interface LoggedReceipt {
  /** Name of the log. */
  readonly origin: string;
  /** Position of the receipt, from 0. */
  readonly index: number;
  /** Entries of the log at the checkpoint of the proof. */
  readonly size: number;
}

/**
 * Verifies that a receipt is in the transparency log: the signature of the checkpoint, and the path from the receipt to its root. Verify the
 * receipt itself with `verifyReceipt`.
 *
 * @param proof - `await assay.receipts.proof(id)`: the text of a `.tlog-proof`
 * @param jws - the receipt
 * @param key - key of the log, NAME+ID+KEY, from its operator and not from the log
 * @throws ReceiptError if the proof does not show it
 * @example
 * const { index } = await verifyLogProof(await assay.receipts.proof(id), data.receipt.jws, LOG_KEY);
 */
export async function verifyLogProof(proof: string, jws: string, key: string): Promise<LoggedReceipt> {
  const log = await logKeyOf(key);
  const end = proof.indexOf('\n\n');
  const [first, ...lines] = proof.slice(0, Math.max(end, 0)).split('\n');
  if (proof.length > PROOF_CHARS_MAX || first !== FIRST_LINE)
    throw new ReceiptError(`proof: the first line must be ${FIRST_LINE}.`);
  if (lines[0]?.startsWith('extra ')) lines.shift();
  const index = whole(/^index (\d+)$/.exec(lines.shift() ?? '')?.[1] ?? '', 'proof');
  const path = lines.map((line) => base64(line, 'proof'));
  const { size, root } = await checkpointOf(proof.slice(end + 2), log);
  const entry = await sha256(bytesOf(jws.split('.')[1] ?? ''));
  const leaf = await sha256(Uint8Array.of(LEAF), entry);
  if ((await rootOf(leaf, index, size, path)) !== root)
    throw new ReceiptError('proof: does not show that the receipt is in the log.');
  return { origin: log.name, index, size };
}

/** A line with its proof: the response of `jobs.line` or, with the text and the salt of the answer, of `receipts.line`. */
export interface ProvedLine {
  /** Number of the line, from 0. */
  readonly line: number;
  /** 16 bytes, hexadecimal. */
  readonly salt: string;
  /** Hashes from the sibling of the leaf to the child of the root, hexadecimal. */
  readonly path: readonly string[];
  /** The line, without its line break. Of an answer of the oracle: `JSON.stringify` of `data` without `batch`. */
  readonly text: string;
}

/** The part of a receipt that binds lines. */
export type LinesReceipt = Pick<Receipt, 'lines'>;

/**
 * Verifies that a receipt of a bulk job or a batch binds a line.
 *
 * @param receipt - of `verifyReceipt`
 * @throws ReceiptError if it does not
 * @example
 * const proof = await assay.jobs.line(id, 7);
 * const receipt = await verifyReceipt(proof.receipt.jws, jwks, { allowExpired: true });
 * await verifyLine(receipt, proof);
 */
export async function verifyLine(
  { lines }: LinesReceipt,
  { line, salt, path, text }: ProvedLine,
): Promise<void> {
  if (lines === null) throw new ReceiptError('receipt: binds no lines.');
  // Encoded, it would be the same bytes as U+FFFD.
  if (/[\ud800-\udfff]/u.test(text)) throw new ReceiptError('text: has a surrogate without its pair.');
  const leaf = await sha256(Uint8Array.of(LEAF), hex(salt, 'salt', SALT_DIGITS), utf8(text));
  const siblings = path.map((hash) => hex(hash, 'path', 2 * HASH_BYTES));
  if ((await rootOf(leaf, line, lines.count, siblings)) !== lines.root)
    throw new ReceiptError(`line: the receipt does not bind this text as line ${line}.`);
}
