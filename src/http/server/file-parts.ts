/** Sends ranges of several files as one response: opens one file after the other and reads into one buffer. */
import { type FileHandle, open } from 'node:fs/promises';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { FilePart } from '../../jobs/bulk-jobs.ts';
import type { ByteSource } from './port.ts';

/**
 * Opens the file ranges as one byte source. The first file is opened before the promise resolves, so a missing file causes an error
 * response, not a truncated one.
 *
 * @param pieceBytes - size of the read buffer, in bytes
 */
export async function openFileParts(
  parts: readonly FilePart[],
  pieceBytes: number = LIMITS.answerPieceBytes,
): Promise<ByteSource> {
  const length = parts.reduce((sum, { start, end }) => sum + end - start, 0);
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(pieceBytes, length)));
  let part = 0;
  let at = parts[0]?.start ?? 0;
  let file: FileHandle | null = null;

  /** Returns the file to read from; null after the last one. */
  async function current(): Promise<{
    readonly file: FileHandle;
    readonly path: string;
    readonly end: number;
  } | null> {
    for (let stretch = parts[part]; stretch !== undefined; stretch = parts[part]) {
      if (at < stretch.end) {
        file ??= await open(stretch.path, 'r');
        return { file, path: stretch.path, end: stretch.end };
      }
      await file?.close();
      file = null;
      part++;
      at = parts[part]?.start ?? 0;
    }
    return null;
  }

  await current();
  return {
    length,
    async next() {
      let filled = 0;
      while (filled < buffer.length) {
        const from = await current();
        if (from === null) break;
        const wanted = Math.min(buffer.length - filled, from.end - at);
        const { bytesRead } = await from.file.read(buffer, filled, wanted, at);
        if (bytesRead === 0)
          throw new AssayError('STORE_CORRUPT', `${from.path}: the result file is truncated at byte ${at}.`);
        filled += bytesRead;
        at += bytesRead;
      }
      if (filled === 0) throw new AssayError('INTERNAL', 'A result was read past its end.');
      return buffer.subarray(0, filled);
    },
    async close() {
      const open = file;
      file = null;
      await open?.close();
    },
  };
}
