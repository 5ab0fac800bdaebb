/** Checkpoints (C2SP tlog-checkpoint): the size and the root of a log as a signed note. */
import { AssayError } from '../../base/errors.ts';
import { HASH_BYTES, type TreeHead } from '../../base/merkle.ts';
import {
  fromBase64,
  fromDecimal,
  type Note,
  type NoteVerifier,
  parseNote,
  type VerifiedSignature,
  verifiedSignatures,
} from './note.ts';

export interface Checkpoint extends TreeHead {
  /** Identifies the log. */
  readonly origin: string;
  readonly root: Buffer;
  readonly note: Note;
}

/** Returns the text that the signatures of a checkpoint sign. */
export const checkpointText = (origin: string, { size, root }: TreeHead): string =>
  `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`;

/**
 * Parses a checkpoint. Its signatures are not verified. Extension lines are accepted and ignored.
 *
 * @throws INVALID_FILE
 */
export function parseCheckpoint(text: string): Checkpoint {
  const note = parseNote(text);
  const [origin = '', size = '', root = '', ...more] = note.text.slice(0, -1).split('\n');
  if (origin === '' || more.includes(''))
    throw new AssayError('INVALID_FILE', 'checkpoint: must have the lines origin, size and root hash.');
  const hash = fromBase64(root, 'checkpoint: root hash');
  if (hash.length !== HASH_BYTES)
    throw new AssayError('INVALID_FILE', `checkpoint: root hash: must have ${HASH_BYTES} bytes.`);
  return { origin, size: fromDecimal(size, 'checkpoint: size'), root: hash, note };
}

export interface VerifiedCheckpoint extends Checkpoint {
  /** Valid cosignatures of known witnesses. */
  readonly cosignatures: readonly VerifiedSignature[];
}

/**
 * Parses a checkpoint and verifies the signature of its log, and those of known witnesses.
 *
 * @param log key of the log; its name is the origin
 * @throws INVALID_FILE if it is not one of this log, is not signed by the log, or if a cosignature of a known witness is not valid
 */
export function verifyCheckpoint(
  text: string,
  log: NoteVerifier,
  witnesses: readonly NoteVerifier[] = [],
): VerifiedCheckpoint {
  const checkpoint = parseCheckpoint(text);
  if (checkpoint.origin !== log.name)
    throw new AssayError(
      'INVALID_FILE',
      `checkpoint: is of the log ${checkpoint.origin}; expected ${log.name}.`,
    );
  if (verifiedSignatures(checkpoint.note, [log]).length === 0)
    throw new AssayError('INVALID_FILE', `checkpoint: has no signature of the key ${log.vkey}.`);
  return { ...checkpoint, cosignatures: verifiedSignatures(checkpoint.note, witnesses) };
}
