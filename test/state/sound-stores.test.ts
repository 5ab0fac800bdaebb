import fs, { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { type Database, openEnvironment } from '../../src/state/lmdb.ts';
import { openPageFile, walkPages } from '../../src/state/lmdb-pages.ts';
import { recordFileSums, requireSound, verifyFile } from '../../src/state/sound-file.ts';
import { execFileSync } from '../support/child-process.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'assay-sound-'));
  folders.push(folder);
  return join(folder, 'store.mdb');
}

/** Each seed makes 720 writes of every kind: twelve of them split, merge, empty and overflow pages thousands of times. */
const SEEDS = process.env.ASSAY_TEST_LONG === '1' ? 40 : 12;
const ROUNDS = 6;
const WRITES_A_ROUND = 120;
const KEYS = 60;

/**
 * Writes random data as stores do: values of all sizes that grow and shrink within a transaction, removals, and databases that are emptied.
 */
async function churn(path: string, seed: number): Promise<void> {
  const next = seededUint32(seed);
  const draw = (below: number): number => next() % below;
  for (let round = 0; round < ROUNDS; round++) {
    const root = openEnvironment(path, { noSubdir: true, maxDbs: 6 });
    const databases = ['a', 'b', 'c'].map(
      (name): Database<Buffer, number | string> =>
        name === 'b'
          ? root.openDB<Buffer, number>({ name, encoding: 'binary', keyEncoding: 'uint32' })
          : root.openDB<Buffer, string>({ name, encoding: 'binary' }),
    );
    const write = (): void => {
      const at = draw(3);
      const database = databases[at] as Database<Buffer, number | string>;
      const key = at === 1 ? draw(KEYS) : `key ${draw(KEYS)} ${'x'.repeat(draw(60))}`;
      const kind = draw(20);
      if (kind === 0) database.clearSync();
      else if (kind < 5) database.removeSync(key);
      else database.putSync(key, Buffer.alloc(draw(2 ** draw(16)), draw(256)));
    };
    for (let left = WRITES_A_ROUND; left > 0; ) {
      const together = 1 + draw(30);
      root.transactionSync(() => {
        for (let each = 0; each < together; each++) write();
      });
      left -= together;
    }
    await root.close();
    requireSound(path);
    verifyFile(path);
    const file = openPageFile(path);
    try {
      walkPages(file, { onPage: () => {} });
    } finally {
      file.close();
    }
  }
}

describe('a small store with a damaged value', () => {
  it.each([
    ['1 hour ago', true],
    ['1 second', false],
  ])('last written %s, is compared with its checksums at its open: %s', async (when, isCompared) => {
    const path = newFile();
    const root = openEnvironment(path, { noSubdir: true, encoding: 'binary' });
    root.putSync('key', Buffer.alloc(50_000, 1));
    await root.close();
    execFileSync('touch', ['-d', when, path]);
    rmSync(`${path}-sums`);
    recordFileSums(path);
    const older = `${path}.older`;
    execFileSync('cp', ['--preserve=timestamps', path, older]);
    const bytes = readFileSync(path);
    bytes[bytes.lastIndexOf(1)] = 2;
    writeFileSync(path, bytes);
    execFileSync('touch', ['-r', older, path]);
    if (isCompared) expect(() => requireSound(path)).toThrow('does not match its checksum');
    else expect(() => requireSound(path)).not.toThrow();
    expect(() => verifyFile(path)).toThrow('does not match its checksum');
  });
});

describe('a store that is sound', () => {
  it('is taken for sound if a value became shorter in the transaction that wrote it', async () => {
    const path = newFile();
    const root = openEnvironment(path, { noSubdir: true, maxDbs: 2 });
    const database = root.openDB<Buffer, string>({ name: 'a', encoding: 'binary' });
    root.transactionSync(() => {
      database.putSync('key', Buffer.alloc(9_000, 1));
      // The shorter value stays on its three pages.
      database.putSync('key', Buffer.alloc(5_000, 2));
    });
    await root.close();
    rmSync(`${path}-sums`);
    expect(() => requireSound(path)).not.toThrow();
  });

  for (let seed = 1; seed <= SEEDS; seed++)
    it(`is taken for sound after any writes (${seed})`, async () => {
      await expect(churn(newFile(), seed)).resolves.toBeUndefined();
    });
});

it('is not taken for truncated if it is extended between the reads of its size and of its header', async () => {
  const path = newFile();
  const root = openEnvironment(path, { overlappingSync: false });
  const { fstatSync } = fs;
  let reads = 0;
  // As another process does, once or all the time.
  for (const extensions of [1, Number.POSITIVE_INFINITY]) {
    reads = 0;
    fs.fstatSync = ((...parameters: Parameters<typeof fstatSync>) => {
      const status = fstatSync(...parameters);
      if (reads++ < extensions) root.putSync(`${extensions} ${reads}`, 'x'.repeat(100_000));
      return status;
    }) as typeof fstatSync;
    syncBuiltinESMExports();
    try {
      requireSound(path);
    } finally {
      fs.fstatSync = fstatSync;
      syncBuiltinESMExports();
    }
    expect(reads).toBeGreaterThan(1);
  }
  await root.close();
});
