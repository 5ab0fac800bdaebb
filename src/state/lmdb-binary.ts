/** Whether the installed binaries of lmdb have the instruction changed that loses commits (docs/decisions/lmdb-open.md). */
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { shippedData } from '../base/paths.ts';

interface Recorded {
  /** Position of the instruction in the file. */
  readonly at: number;
  /** The changed instruction, in hexadecimal. */
  readonly to: string;
}

/** Returns the folder in which npm has put the packages of the binaries: beside the package that loads them. */
function packagesFolder(): string {
  const path = createRequire(import.meta.url).resolve('lmdb');
  const modules = `${sep}node_modules${sep}`;
  return join(path.slice(0, path.lastIndexOf(modules) + modules.length), '@lmdb');
}

/** Reads a few bytes of a file, in hexadecimal. */
function bytesAt(path: string, at: number, count: number): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(count);
    return bytes.subarray(0, readSync(file, bytes, 0, count, at)).toString('hex');
  } finally {
    closeSync(file);
  }
}

/**
 * Looks at the recorded binaries that are installed.
 *
 * @param folder - with the packages of the binaries; the installed ones by default
 * @returns a sentence that says what is wrong; null if all have the instruction changed
 */
export function lmdbFault(folder: string = packagesFolder()): string | null {
  const { lmdb } = JSON.parse(readFileSync(shippedData('native-binaries.json'), 'utf8')) as {
    readonly lmdb: { readonly files: Readonly<Record<string, Recorded>> };
  };
  const installed = Object.entries(lmdb.files)
    .map(([name, recorded]) => ({ path: join(folder, name), ...recorded }))
    .filter(({ path }) => existsSync(path));
  if (installed.length === 0)
    return `There is no changed binary of lmdb for this platform (${process.platform}, ${process.arch}).`;
  const published = installed.find(({ path, at, to }) => bytesAt(path, at, to.length / 2) !== to);
  return published === undefined
    ? null
    : `${join(dirname(published.path), '*.node')} are binaries of lmdb that were installed without the step after npm ci.`;
}
