/**
 * A process that opens stores of one kind, one after the other, and reads all of each. Arguments: kind, paths. Prints one line for each store:
 * `0` and the JSON of a digest of every database and the answers of the store's own reader, or `1` and the JSON of the code and the message
 * of the error. It loads that reader alone, because it is started often.
 */
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { argv } from 'node:process';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { openAsBytes, openEnvironment } from '../../src/state/lmdb.ts';

const kind = argv[2] as string;
const deps = { clock: systemClock, log: silentLogger, random: systemRandom };

/** Opens the store as the program does, reads from it, and closes it. */
const READERS: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  async ledger(path) {
    const { openLedger } = await import('../../src/accounts/ledger-lmdb.ts');
    const ledger = openLedger({ path }, { ...deps, freeCredits: () => 10 });
    const found = [await ledger.verify(), ledger.balance('a1'), ledger.balance('a7')];
    await ledger.close();
    return found;
  },
  async keys(path) {
    const { openKeyStore } = await import('../../src/accounts/keys-lmdb.ts');
    const keys = openKeyStore({ path }, deps);
    const found = keys.list();
    await keys.close();
    return found;
  },
  async transfers(path) {
    const { openTransferStore } = await import('../../src/graph/store.ts');
    const store = openTransferStore({ path: dirname(path), readOnly: true });
    const found = store.coverage('ETH');
    await store.close();
    return found;
  },
  async labels(path) {
    const { openSnapshotClosable } = await import('../../src/labels/index/snapshot.ts');
    const { reader, close } = openSnapshotClosable(dirname(path));
    const found = reader.meta;
    await close();
    return found;
  },
  async names(path) {
    const { openNameIndex } = await import('../../src/names/index/open.ts');
    const index = openNameIndex(dirname(path));
    return [index.meta, index.match({ name: 'Person 17 Petrov' })];
  },
};

/** Computes a digest of all records. Read-only files keep their values in the unnamed database. */
async function digest(path: string): Promise<unknown> {
  const isFlat = kind === 'labels' || kind === 'names';
  const root = openEnvironment(path, {
    readOnly: true,
    noSubdir: true,
    maxDbs: 64,
    ...(isFlat ? ({ encoding: 'binary', keyEncoding: 'binary' } as const) : {}),
  });
  const found: Record<string, string> = {};
  const databases = isFlat ? [''] : [...root.getKeys({ limit: 64 })].map(String);
  for (const name of databases) {
    const hash = createHash('sha256');
    const database = isFlat ? root : openAsBytes(root, name);
    for (const { key, value } of database.getRange({ start: Buffer.from([0]) }))
      hash.update(key as Buffer).update(value as Buffer);
    found[name] = hash.digest('hex');
  }
  await root.close();
  return found;
}

async function told(path: string): Promise<string> {
  try {
    const read = await READERS[kind]?.(path);
    return `0 ${JSON.stringify({ read, digest: await digest(path) })}`;
  } catch (error) {
    const code = error instanceof AssayError ? error.code : null;
    return `1 ${JSON.stringify({ code, message: String(error instanceof Error ? error.message : error) })}`;
  }
}

// Not at the top level: it is joined to a script, which cannot wait there.
async function probe(): Promise<void> {
  for (const path of argv.slice(3)) console.log(await told(path));
  process.exit(0);
}

void probe();
