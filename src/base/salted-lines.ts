/**
 * Lines that one signature binds: the leaves of a Merkle tree (merkle.ts), each salted, so that a proof of one line reveals nothing of its
 * neighbours. The entry of a line is its salt and its text; its leaf is SHA-256(0x00 || salt || text).
 */
import { sha256 } from './merkle.ts';

/** Bytes of the secret from which the salts of a file are derived. */
export const LINE_SECRET_BYTES = 32;
export const LINE_SALT_BYTES = 16;

/** A leaf input has at least this much space: the answers of most lines fit. */
const INPUT_BYTES = 8 * 1024;

/** Returns the salt of a line: the first 16 bytes of SHA-256(secret || number of the line from 0, 8 bytes, big-endian). */
export function lineSalt(secret: Uint8Array, line: number): Buffer {
  const input = Buffer.alloc(secret.length + 8);
  input.set(secret);
  input.writeBigUInt64BE(BigInt(line), secret.length);
  return sha256(input).subarray(0, LINE_SALT_BYTES);
}

/** Computes leaves. It copies the text beside its salt, because one piece is hashed faster than three. */
export class LineLeaves {
  #input = Buffer.alloc(INPUT_BYTES);

  /**
   * Returns the leaf of a line.
   *
   * @param text - UTF-8, without a line break
   */
  leafOf(salt: Uint8Array, text: Uint8Array): Buffer {
    const head = 1 + LINE_SALT_BYTES;
    const length = head + text.length;
    if (this.#input.length < length) this.#input = Buffer.alloc(2 * length);
    this.#input.set(salt, 1);
    this.#input.set(text, head);
    return sha256(this.#input.subarray(0, length));
  }
}
