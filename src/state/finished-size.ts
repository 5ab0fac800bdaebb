/**
 * Records the size of a finished file in another file beside it. A memory map of a truncated file ends the process and not just the call,
 * so the size is checked before a file is mapped.
 */
import { readFileSync, statSync } from 'node:fs';
import { writeJsonAtomically } from './atomic-file.ts';
import { recordFileSums } from './sound-file.ts';

/** Writes the current size of `file`, a closed store, to `sizeFile`, and computes the checksums of its pages. */
export function noteFinishedSize(file: string, sizeFile: string): void {
  writeJsonAtomically(sizeFile, statSync(file).size);
  recordFileSums(file);
}

/** Returns false if the file is missing, empty, or shorter than its recorded size (if one was recorded). */
export function hasFinishedSize(file: string, sizeFile: string): boolean {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  let finished = 0;
  try {
    finished = Number(readFileSync(sizeFile, 'utf8'));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
  }
  return size > 0 && size >= finished;
}
