/** Proofs that an entry is in a log (C2SP tlog-proof): they are verified offline, with the key of the log alone. */
import { AssayError } from '../../base/errors.ts';
import { HASH_BYTES, isIncluded, leafHash } from '../../base/merkle.ts';
import { parseCheckpoint, type VerifiedCheckpoint, verifyCheckpoint } from './checkpoint.ts';
import { LOG_LIMITS } from './limits.ts';
import { fromBase64, fromDecimal, type NoteVerifier } from './note.ts';

const FIRST_LINE = 'c2sp.org/tlog-proof@v1';

export interface LogProof {
  /** Position of the entry, from 0. */
  readonly index: number;
  /** From the sibling of the leaf to the child of the root. */
  readonly hashes: readonly Buffer[];
  /** The checkpoint as the log signed it. */
  readonly checkpoint: string;
  /** Not authenticated; null if absent. */
  readonly extra: Buffer | null;
}

const invalid = (message: string): AssayError => new AssayError('INVALID_FILE', `proof: ${message}`);

/** Returns a proof as the text of a `.tlog-proof` file. */
export function formatProof({ index, hashes, checkpoint, extra }: LogProof): string {
  const lines = [
    FIRST_LINE,
    ...(extra === null ? [] : [`extra ${extra.toString('base64')}`]),
    `index ${index}`,
    ...hashes.map((hash) => hash.toString('base64')),
  ];
  return `${lines.join('\n')}\n\n${checkpoint}`;
}

/**
 * Parses a `.tlog-proof` file. Nothing is verified.
 *
 * @throws INVALID_FILE
 */
export function parseProof(text: string): LogProof {
  if (text.length > LOG_LIMITS.proofBytesMax)
    throw invalid(`is longer than ${LOG_LIMITS.proofBytesMax} characters.`);
  const end = text.indexOf('\n\n');
  const [first, ...lines] = text.slice(0, Math.max(end, 0)).split('\n');
  if (end < 0 || first !== FIRST_LINE) throw invalid(`the first line must be ${FIRST_LINE}.`);
  const extraLine = lines[0]?.startsWith('extra ') ? lines.shift() : undefined;
  const indexLine = lines.shift() ?? '';
  if (!indexLine.startsWith('index ')) throw invalid('has no line "index NUMBER".');
  if (lines.length > LOG_LIMITS.proofHashesMax)
    throw invalid(`has more than ${LOG_LIMITS.proofHashesMax} hashes.`);
  const hashes = lines.map((line) => fromBase64(line, 'proof: hash'));
  if (hashes.some((hash) => hash.length !== HASH_BYTES))
    throw invalid(`hash: must have ${HASH_BYTES} bytes.`);
  const checkpoint = text.slice(end + 2);
  parseCheckpoint(checkpoint);
  return {
    index: fromDecimal(indexLine.slice('index '.length), 'proof: index'),
    hashes,
    checkpoint,
    extra: extraLine === undefined ? null : fromBase64(extraLine.slice('extra '.length), 'proof: extra'),
  };
}

/**
 * Verifies that `entry` is in the log: the signature of the checkpoint, and the path from the entry to its root.
 *
 * @param entry the bytes of the entry; of a receipt, its SHA-256
 * @param log key of the log
 * @param witnesses keys of witnesses with cosignatures that are returned
 * @returns the checkpoint that contains the entry
 * @throws INVALID_FILE if the proof does not show that
 */
export function verifyProof(
  text: string,
  entry: Uint8Array,
  log: NoteVerifier,
  witnesses: readonly NoteVerifier[] = [],
): VerifiedCheckpoint {
  const { index, hashes, checkpoint } = parseProof(text);
  const verified = verifyCheckpoint(checkpoint, log, witnesses);
  if (!isIncluded(leafHash(entry), index, verified.size, hashes, verified.root))
    throw invalid(`does not show that the entry is at index ${index} of the log ${verified.origin}.`);
  return verified;
}
