/**
 * How many bytes a file had when it was finished, written beside it: a memory map of a file that was cut short ends the process, not
 * the call, so whoever maps one looks first.
 */
import { readFileSync, statSync } from 'node:fs';
import { writeJsonAtomically } from './atomic-file.ts';
import { sealFile } from './sound-file.ts';

/** Notes the present size of `file`, a store that is closed, in `sizeFile`, and takes the checksums of its pages. */
export function noteFinishedSize(file: string, sizeFile: string): void {
  writeJsonAtomically(sizeFile, statSync(file).size);
  sealFile(file);
}

/** False where the file is missing, empty, or shorter than it was when it was finished (if that was noted). */
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
