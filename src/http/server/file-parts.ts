/** Sends ranges of several files as one response: opens one file after the other and reads into one buffer. */
import { type FileHandle, open } from 'node:fs/promises';
import { AssayError } from '../../base/errors.ts';
import type { FilePart } from '../../jobs/bulk-jobs.ts';
import { HTTP_LIMITS } from '../limits.ts';
import type { ByteSource } from './port.ts';

/** Reads file ranges one after the other into one buffer. */
class FilePartsSource implements ByteSource {
  readonly length: number;
  readonly #parts: readonly FilePart[];
  readonly #buffer: Buffer;
  #part = 0;
  /** Position in the current file. */
  #at: number;
  #file: FileHandle | null = null;

  constructor(parts: readonly FilePart[], pieceBytes: number) {
    this.length = parts.reduce((sum, { start, end }) => sum + end - start, 0);
    this.#parts = parts;
    this.#buffer = Buffer.allocUnsafe(Math.max(1, Math.min(pieceBytes, this.length)));
    this.#at = parts[0]?.start ?? 0;
  }

  /** Opens the file of the next byte, and returns its range; null after the last one. */
  async openNext(): Promise<{ readonly file: FileHandle; readonly part: FilePart } | null> {
    for (let part = this.#parts[this.#part]; part !== undefined; part = this.#parts[this.#part]) {
      if (this.#at < part.end) {
        this.#file ??= await open(part.path, 'r');
        return { file: this.#file, part };
      }
      await this.close();
      this.#part++;
      this.#at = this.#parts[this.#part]?.start ?? 0;
    }
    return null;
  }

  async next(): Promise<Uint8Array> {
    const buffer = this.#buffer;
    let filled = 0;
    while (filled < buffer.length) {
      const from = await this.openNext();
      if (from === null) break;
      const { file, part } = from;
      const { bytesRead } = await file.read(
        buffer,
        filled,
        Math.min(buffer.length - filled, part.end - this.#at),
        this.#at,
      );
      if (bytesRead === 0)
        throw new AssayError(
          'STORE_CORRUPT',
          `${part.path}: the result file is truncated at byte ${this.#at}.`,
        );
      filled += bytesRead;
      this.#at += bytesRead;
    }
    if (filled === 0) throw new AssayError('INTERNAL', 'A result was read past its end.');
    return buffer.subarray(0, filled);
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }
}

/**
 * Opens the file ranges as one byte source. The first file is opened before the promise resolves, so a missing file causes an error
 * response, not a truncated one.
 *
 * @param pieceBytes - size of the read buffer, in bytes
 */
export async function openFileParts(
  parts: readonly FilePart[],
  pieceBytes: number = HTTP_LIMITS.answerPieceBytes,
): Promise<ByteSource> {
  const source = new FilePartsSource(parts, pieceBytes);
  await source.openNext();
  return source;
}

/** A source without bytes, for responses without a body. */
export const EMPTY: ByteSource = {
  length: 0,
  next: () => Promise.reject(new AssayError('INTERNAL', 'An empty source was read.')),
  close: async () => {},
};
