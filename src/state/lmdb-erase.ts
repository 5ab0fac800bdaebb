/** Erases what an LMDB file has besides its records: pages that are not in use, and the unused part of each page. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { openPageFile, unusedPart, walkPages } from './lmdb-pages.ts';

/** Pages that are overwritten by one call: 1 MB. */
const ERASED_PAGES = 256;

/**
 * Overwrites deleted records in a file that no process has open.
 *
 * @throws DamagedPages naming the first damaged page
 */
export function eraseUnused(path: string): void {
  const file = openPageFile(path);
  const target = openSync(path, 'r+');
  try {
    const { pageBytes } = file.meta;
    const pages = Math.ceil(file.bytes / pageBytes);
    const inUse = new Uint8Array(pages).fill(1, 0, 2);
    const zeros = Buffer.alloc(ERASED_PAGES * pageBytes);
    const erase = (at: number, end: number): void => {
      for (let done = at; done < end; )
        done += writeSync(target, zeros, 0, Math.min(zeros.length, end - done), done);
    };
    walkPages(file, {
      onPage: (page, _, bytes, isNode) => {
        inUse[page] = 1;
        if (!isNode) return;
        const [from, to] = unusedPart(bytes);
        erase(page * pageBytes + from, page * pageBytes + to);
      },
    });
    for (let page = inUse.indexOf(0); page !== -1; ) {
      const next = inUse.indexOf(1, page);
      erase(page * pageBytes, next === -1 ? file.bytes : next * pageBytes);
      page = next === -1 ? -1 : inUse.indexOf(0, next);
    }
  } finally {
    closeSync(target);
    file.close();
  }
}
