/**
 * Signed notes (C2SP signed-note): a text with lines of signatures. Ed25519 signatures of logs, and the timestamped cosignatures of witnesses
 * (C2SP tlog-cosignature, version 1).
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { AssayError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { pkcs8Of } from '../ed25519.ts';
import { LOG_LIMITS } from './limits.ts';

/** Types of signatures, as the specifications number them. */
const ED25519 = 0x01;
const COSIGNATURE_V1 = 0x04;

const KEY_ID_BYTES = 4;
/** Of a private key, and of a public one. */
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const TIME_BYTES = 8;
const DASH = '— ';

/** Key names contain no Unicode space and no plus. */
const KEY_NAME = /^[^\s+\p{Z}]{1,255}$/u;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: notes must not contain them.
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/;

/** One line of a note. */
export interface NoteSignature {
  readonly name: string;
  /** Four bytes. */
  readonly keyId: Buffer;
  readonly signature: Buffer;
}

export interface Note {
  /** Ends with a newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** A key that signs notes as a log. */
export interface NoteSigner {
  readonly name: string;
  readonly verifier: NoteVerifier;
  sign(text: string): NoteSignature;
}

/** A known key of a log or a witness. */
export interface NoteVerifier {
  readonly name: string;
  readonly keyId: Buffer;
  /** As configurations write it: `name+id+key`. */
  readonly vkey: string;
  readonly isWitness: boolean;
  /**
   * Verifies a signature of this key.
   *
   * @returns the time of a cosignature in seconds since 1970, 0 for a log; null if the signature is not valid
   */
  verify(text: string, signature: Uint8Array): number | null;
}

const invalid = (message: string, cause?: unknown): AssayError =>
  new AssayError('INVALID_FILE', message, cause === undefined ? {} : { cause });

/**
 * Decodes standard base64.
 *
 * @param what name of the field, for the error
 * @throws INVALID_FILE if the text is not in its only valid form
 */
export function fromBase64(text: string, what: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (!BASE64.test(text) || bytes.toString('base64') !== text)
    throw invalid(`${what}: must be standard base64 with padding.`);
  return bytes;
}

/**
 * Parses a decimal number without leading zeros.
 *
 * @param what name of the field, for the error
 * @throws INVALID_FILE if it is not one, or above the largest size of a tree
 */
export function fromDecimal(text: string, what: string): number {
  const value = Number(text);
  if (!/^(?:0|[1-9]\d{0,18})$/.test(text) || value > LOG_LIMITS.treeSizeMax)
    throw invalid(
      `${what}: must be a decimal number from 0 to ${LOG_LIMITS.treeSizeMax} without leading zeros.`,
    );
  return value;
}

const keyIdOf = (name: string, type: number, key: Uint8Array): Buffer =>
  createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.of(type))
    .update(key)
    .digest()
    .subarray(0, KEY_ID_BYTES);

const rawKeyOf = (key: KeyObject): Buffer => Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');

const publicKeyOf = (raw: Uint8Array): KeyObject =>
  createPublicKey({
    format: 'jwk',
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(raw).toString('base64url') },
  });

/** Returns whether a text can be the name of a key, and the origin of a log. */
export const isKeyName = (text: string): boolean => KEY_NAME.test(text) && !CONTROL.test(text);

function verifierOf(name: string, type: number, raw: Buffer): NoteVerifier {
  const key = publicKeyOf(raw);
  const keyId = keyIdOf(name, type, raw);
  const isWitness = type === COSIGNATURE_V1;
  return {
    name,
    keyId,
    vkey: `${name}+${keyId.toString('hex')}+${Buffer.concat([Buffer.of(type), raw]).toString('base64')}`,
    isWitness,
    verify(text, signature) {
      if (!isWitness)
        return signature.length === SIGNATURE_BYTES && verify(null, Buffer.from(text), key, signature)
          ? 0
          : null;
      if (signature.length !== TIME_BYTES + SIGNATURE_BYTES) return null;
      const time = Buffer.from(signature).readBigUInt64BE(0);
      if (time > BigInt(Number.MAX_SAFE_INTEGER)) return null;
      const message = Buffer.from(cosignedText(Number(time), text));
      return verify(null, message, key, signature.subarray(TIME_BYTES)) ? Number(time) : null;
    },
  };
}

/** Returns the message that a cosignature signs. */
const cosignedText = (seconds: number, text: string): string => `cosignature/v1\ntime ${seconds}\n${text}`;

/**
 * Parses a verifier key: `name+id+key`, the id hexadecimal, the key base64 of its type and 32 bytes.
 *
 * @param field name of the setting or option, for the error
 * @param of whose key it must be: type 1 (Ed25519) of a log, or 4 (Ed25519 cosignature) of a witness
 * @throws INVALID_CONFIG if it is not one
 */
export function parseVkey(text: string, field: string, of: 'log' | 'witness'): NoteVerifier {
  const type = of === 'log' ? ED25519 : COSIGNATURE_V1;
  const wrong = (): AssayError =>
    new AssayError(
      'INVALID_CONFIG',
      `${field}: must be the verifier key of a ${of}, NAME+ID+KEY of type ${type} with Ed25519 (got '${text.slice(0, 200)}').`,
      { field },
    );
  // Base64 may contain a plus; names and ids do not.
  const found = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text);
  const [name = '', id = '', encoded = ''] = found?.slice(1) ?? [];
  if (!isKeyName(name) || !BASE64.test(encoded)) throw wrong();
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes[0] !== type || bytes.length !== 1 + KEY_BYTES) throw wrong();
  const verifier = verifierOf(name, type, bytes.subarray(1));
  if (verifier.keyId.toString('hex') !== id) throw wrong();
  return verifier;
}

/** Returns a new Ed25519 private key as PKCS #8 in base64. */
export const newNoteKey = (random: Random): string => pkcs8Of(random.bytes(KEY_BYTES)).toString('base64');

const privateKeyOf = (pkcs8: string): KeyObject =>
  createPrivateKey({ key: Buffer.from(pkcs8, 'base64'), format: 'der', type: 'pkcs8' });

/**
 * Returns the signer of a log.
 *
 * @param name the origin of the log
 * @param pkcs8 an Ed25519 private key of `newNoteKey`
 */
export function noteSigner(name: string, pkcs8: string): NoteSigner {
  const key = privateKeyOf(pkcs8);
  const verifier = verifierOf(name, ED25519, rawKeyOf(createPublicKey(key)));
  return {
    name,
    verifier,
    sign: (text) => ({ name, keyId: verifier.keyId, signature: sign(null, Buffer.from(text), key) }),
  };
}

/**
 * Returns a witness: it signs the text of a checkpoint with the time. Assay itself is no witness; tests, and an operator with two
 * installations, use it.
 *
 * @param seconds returns the time in seconds since 1970
 */
export function cosigner(name: string, pkcs8: string, seconds: () => number): NoteSigner {
  const key = privateKeyOf(pkcs8);
  const verifier = verifierOf(name, COSIGNATURE_V1, rawKeyOf(createPublicKey(key)));
  return {
    name,
    verifier,
    sign(text) {
      const time = Buffer.alloc(TIME_BYTES);
      const now = seconds();
      time.writeBigUInt64BE(BigInt(now));
      const signature = sign(null, Buffer.from(cosignedText(now, text)), key);
      return { name, keyId: verifier.keyId, signature: Buffer.concat([time, signature]) };
    },
  };
}

/** Returns the line of a signature, with its newline. */
export const signatureLine = ({ name, keyId, signature }: NoteSignature): string =>
  `${DASH}${name} ${Buffer.concat([keyId, signature]).toString('base64')}\n`;

/** Returns a note as text. */
export const formatNote = ({ text, signatures }: Note): string =>
  `${text}\n${signatures.map(signatureLine).join('')}`;

function parseSignature(line: string): NoteSignature {
  const [name = '', encoded = '', ...rest] = line.slice(DASH.length).split(' ');
  if (!line.startsWith(DASH) || !isKeyName(name) || rest.length > 0)
    throw invalid('note: a signature line must be "— NAME BASE64".');
  const bytes = fromBase64(encoded, 'note: signature');
  if (bytes.length <= KEY_ID_BYTES) throw invalid('note: a signature is shorter than its key id.');
  return { name, keyId: bytes.subarray(0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES) };
}

/**
 * Parses lines of signatures, as a note ends with them and a witness answers with them.
 *
 * @throws INVALID_FILE
 */
export function parseSignatures(text: string): NoteSignature[] {
  if (!text.endsWith('\n')) throw invalid('note: the last line must end with a newline.');
  const lines = text.slice(0, -1).split('\n');
  if (lines.length > LOG_LIMITS.noteSignaturesMax)
    throw invalid(`note: has more than ${LOG_LIMITS.noteSignaturesMax} signatures.`);
  return lines.map(parseSignature);
}

/**
 * Parses a signed note. Its signatures are not verified.
 *
 * @throws INVALID_FILE
 */
export function parseNote(note: string): Note {
  if (note.length > LOG_LIMITS.noteBytesMax)
    throw invalid(`note: is longer than ${LOG_LIMITS.noteBytesMax} characters.`);
  if (CONTROL.test(note)) throw invalid('note: contains a control character.');
  const end = note.lastIndexOf('\n\n');
  if (end < 0) throw invalid('note: has no signatures after an empty line.');
  return { text: note.slice(0, end + 1), signatures: parseSignatures(note.slice(end + 2)) };
}

/** A signature of a known key that is valid. */
export interface VerifiedSignature {
  readonly verifier: NoteVerifier;
  /** Time of a cosignature in seconds since 1970; 0 for the signature of a log. */
  readonly seconds: number;
}

/**
 * Verifies the signatures of known keys. Signatures of other keys are ignored.
 *
 * @returns the valid signatures, one for each known key at most
 * @throws INVALID_FILE if a signature of a known key is not valid
 */
export function verifiedSignatures(note: Note, known: readonly NoteVerifier[]): readonly VerifiedSignature[] {
  return known.flatMap((verifier) => {
    const own = note.signatures.filter(
      ({ name, keyId }) => name === verifier.name && keyId.equals(verifier.keyId),
    );
    const times = own.map(({ signature }) => verifier.verify(note.text, signature));
    if (times.includes(null))
      throw invalid(`note: the signature of ${verifier.name} is not valid for its text.`);
    const [seconds] = times;
    return typeof seconds === 'number' ? [{ verifier, seconds }] : [];
  });
}
