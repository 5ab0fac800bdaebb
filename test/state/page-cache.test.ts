/** Reading of large files at the start: which are read, how much of them, and when it ends. */
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { type CacheFillingDeps, fillPageCache } from '../../src/state/page-cache.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

const MB = 1024 * 1024;

let labels: TempFolder;
let transfers: TempFolder;
let lines: { readonly message: string; readonly path?: string }[];
beforeEach(() => {
  labels = tempFolder();
  transfers = tempFolder();
  lines = [];
});
afterEach(() => {
  labels.remove();
  transfers.remove();
});

const fileOf = (folder: TempFolder, name: string, megabytes: number): string => {
  const path = join(folder.path, name);
  writeFileSync(path, Buffer.alloc(megabytes * MB, 1));
  return path;
};

const deps = (more: Partial<CacheFillingDeps> = {}): CacheFillingDeps => {
  const note = (fields: { readonly path?: string }, message: string): void =>
    void lines.push({ message, ...(fields.path === undefined ? {} : { path: fields.path }) });
  return {
    clock: systemClock,
    log: { ...silentLogger, info: note, warn: note } as CacheFillingDeps['log'],
    availableBytes: () => 1024 * MB,
    smallBytes: 2 * MB,
    ...more,
  };
};

/** Bytes that this process has read by system calls. */
const bytesRead = (): number => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);

/** Paths of the files that this process has open. */
const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').map((descriptor) => {
    const link = join('/proc/self/fd', descriptor);
    return existsSync(link) ? readlinkSync(link) : '';
  });

/** Runs a filling to its end. Returns the megabytes that were read meanwhile. */
async function filled(folders: readonly (string | null)[], expected: number, more = {}): Promise<number> {
  const before = bytesRead();
  const filling = fillPageCache(folders, deps(more));
  while (lines.length < expected) await setTimeout(5);
  await filling.stop();
  return Math.floor((bytesRead() - before) / MB);
}

it('reads the large stores of each folder whole, in the order of the folders', async () => {
  const paths = [
    fileOf(transfers, 'btc.mdb', 7),
    fileOf(transfers, 'eth.mdb', 9),
    fileOf(labels, 'labels.mdb', 5),
  ];
  fileOf(labels, 'small.mdb', 2);
  fileOf(labels, 'labels.mdb-sums', 3);
  expect(await filled([labels.path, null, join(labels.path, 'missing'), transfers.path], 3)).toBe(21);
  expect(lines).toEqual(
    [paths[2], paths[0], paths[1]].map((path) => ({ path, message: 'file read into memory' })),
  );
  expect(openFiles().filter((path) => paths.includes(path))).toEqual([]);
});

it('reads no more than half of the memory that is available, and says what it leaves out', async () => {
  const large = fileOf(labels, 'a.mdb', 11);
  const fits = fileOf(labels, 'b.mdb', 6);
  const noMore = fileOf(labels, 'c.mdb', 5);
  expect(await filled([labels.path], 3, { availableBytes: () => 20 * MB })).toBe(6);
  const leftOut = 'file left to the disk, too large for memory';
  expect(lines).toEqual([
    { path: large, message: leftOut },
    { path: fits, message: 'file read into memory' },
    { path: noMore, message: leftOut },
  ]);
});

it('ends between two pieces when the server stops', async () => {
  fileOf(labels, 'labels.mdb', 64);
  const before = bytesRead();
  const filling = fillPageCache([labels.path], deps());
  while (bytesRead() - before < 2 * MB) await setTimeout(0);
  await filling.stop();
  const read = bytesRead();
  expect(read - before).toBeLessThan(60 * MB);
  await setTimeout(50);
  expect(bytesRead() - read).toBeLessThan(MB);
  expect(lines).toEqual([]);
});

it('leaves a file that it cannot read to those who need it', async () => {
  fileOf(labels, 'file.mdb', 3);
  expect(await filled([join(labels.path, 'file.mdb')], 1)).toBe(0);
  expect(lines).toEqual([{ message: 'files not read into memory' }]);
});
