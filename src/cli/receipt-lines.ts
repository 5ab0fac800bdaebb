/** Lines in files of `assay receipt verify`: a line with its proof, an answer of the oracle with that of its batch, and the whole result of a job. */
import { createReadStream } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { HASH_BYTES, isIncluded, MerkleFrontier } from '../base/merkle.ts';
import { LINE_SALT_BYTES, LINE_SECRET_BYTES, LineLeaves, lineSalt } from '../base/salted-lines.ts';
import { RECEIPT_LIMITS } from '../receipts/limits.ts';
import type { Receipt } from '../receipts/receipt-schema.ts';

type Values = Readonly<Record<string, unknown>>;

const NEWLINE = 0x0a;
/** A proof has one hash for each level of the tree. */
const PATH_MAX = 63;

const refuse = (path: string, what: string): AssayError =>
  new AssayError('INVALID_FILE', `${path}: ${what}.`);

function bytesOf(value: unknown, length: number, path: string, field: string): Buffer {
  const bytes = Buffer.from(typeof value === 'string' && /^[0-9a-f]*$/.test(value) ? value : '', 'hex');
  if (bytes.length === length) return bytes;
  throw refuse(path, `${field}: must have ${2 * length} hexadecimal digits`);
}

/** Whether a file is a line with its proof. */
export const isLine = ({ line, path }: Values): boolean => typeof line === 'number' && Array.isArray(path);

/** Returns the salt and the text that an answer of the oracle adds to the proof of its batch. */
export function answerLine(data: Values, path: string): Values {
  const { batch, ...answer } = data;
  const { salt, line, id } = (batch ?? {}) as Values;
  if (salt === undefined) throw refuse(path, 'batch: is missing; the answer must be one of receipt=batch');
  return { salt, line, id, text: JSON.stringify(answer) };
}

/** Returns whether a receipt binds a line. Throws INVALID_FILE if the file is not such a line. */
export function isBound({ lines, id }: Receipt, file: Values, added: Values, path: string): boolean {
  const { line, salt, text, path: hashes } = { ...file, ...added };
  if (lines === null) throw refuse(path, 'the receipt binds no lines');
  if (added.id !== undefined && (added.id !== id || added.line !== file.line))
    throw refuse(path, 'the answer is of another batch or line');
  if (typeof text !== 'string')
    throw refuse(path, 'text: is missing; give the answer of the oracle with --answer');
  // Encoded, it would be the same bytes as U+FFFD.
  if (/[\ud800-\udfff]/u.test(text)) throw refuse(path, 'text: has a surrogate without its pair');
  if (!Array.isArray(hashes) || hashes.length > PATH_MAX)
    throw refuse(path, 'path: must be a list of hashes');
  const leaf = new LineLeaves().leafOf(bytesOf(salt, LINE_SALT_BYTES, path, 'salt'), Buffer.from(text));
  const proof = hashes.map((hash) => bytesOf(hash, HASH_BYTES, path, 'path'));
  return isIncluded(leaf, Number(line), lines.count, proof, Buffer.from(lines.root, 'hex'));
}

/**
 * Returns whether the result of a job is the one that its receipt binds. It reads the file as a stream.
 *
 * @param evidence - of the record of the receipt: it has the secret of the salts
 */
export async function isResultOf(
  { lines }: Receipt,
  evidence: Values,
  { result, record }: { readonly result: string; readonly record: string },
): Promise<boolean> {
  if (lines === null) throw refuse(record, 'the receipt binds no lines');
  const secret = bytesOf(evidence.lineSecret, LINE_SECRET_BYTES, record, 'evidence.lineSecret');
  const tree = new MerkleFrontier();
  const leaves = new LineLeaves();
  const append = (text: Buffer): void => tree.append(leaves.leafOf(lineSalt(secret, tree.size), text));
  let begun: Buffer = Buffer.alloc(0);
  for await (const piece of createReadStream(result) as AsyncIterable<Buffer>) {
    let at = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, at)) {
      const rest = piece.subarray(at, end);
      append(begun.length === 0 ? rest : Buffer.concat([begun, rest]));
      begun = Buffer.alloc(0);
      at = end + 1;
    }
    if (begun.length + piece.length - at > RECEIPT_LIMITS.receiptFileBytesMax)
      throw refuse(result, `has a line of more than ${RECEIPT_LIMITS.receiptFileBytesMax} bytes`);
    begun = Buffer.concat([begun, piece.subarray(at)]);
    if (tree.size > lines.count) return false;
  }
  if (begun.length > 0) append(begun);
  return tree.size === lines.count && tree.root().toString('hex') === lines.root;
}
