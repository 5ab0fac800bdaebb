/**
 * Every file of a folder in which every feature was used, damaged one at a time. `assay verify` names it. A server refuses to start with a
 * sentence, answers an error, or answers as before: it never ends by a signal and never gives another answer.
 */
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestDatabases } from '../../src/backup/digests.ts';
import { seededUint32 } from '../../src/base/random.ts';
import { faultsOfFiles } from '../../src/cli/verify-files.ts';
import { readInstallation } from '../../src/state/installation-record.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { verifyFolder } from '../../src/state/verify-folder.ts';
import { address, UNI, type UsedFolder, useFolder } from '../setup/used-folder.ts';
import { newEmptyWorld, type World } from './program.ts';

const LONG = process.env.ASSAY_TEST_LONG === '1';
const HARMS = ['flipped', 'cut', 'emptied', 'zeroed'] as const;
type Harm = (typeof HARMS)[number] | 'missing';

/** Stores that are built from other files. */
const DERIVED = /^(?:snapshots|names|exposure|clusters)\//;

/** Files that `assay verify` does not compare with anything, with the reason. The tests start a server over them all the same. */
const NOT_COMPARED: readonly (readonly [files: RegExp, reason: string])[] = [
  [/-lock$|\/leases\/|(^|\/)(REFRESH_)?LOCK$|\.lock$|\/opening-\d+$/, 'locks hold nothing'],
  [/-sums$/, 'checksums that are wrong are taken again, or refused with their store'],
  [/\.size$/, 'the checksums of the store say more'],
  [/^installation\.key$/, 'random bytes: what was sealed with another key does not open'],
  [/^travel\/published\/releases\.json$/, 'published anew if it does not open'],
  [
    /^clusters\/\w+\/building\//,
    'verified by the next build, which reads the transactions again if a part is wrong',
  ],
  [
    /^jobs-folder$|^jobs\/\.folder$/,
    'random names, compared with each other: a folder that has the files of its jobs is taken',
  ],
  [/^labels\/(rejects|downloads)\//, 'for people, and copies of the files of publishers'],
];
const isCompared = (name: string): boolean => !NOT_COMPARED.some(([files]) => files.test(name));

const nameInFaults = (path: string): string => basename(path).replace(/\.(records|templates)$/, '');

/**
 * Puts files into groups that are damaged at the same time, because each verification reads the whole folder: no two of a group have the
 * same name, or are below the same folder, where one may say what is in the others. The long suite damages each file alone.
 */
function togetherDamaged(paths: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  // `jobs.mdb` says what is in `jobs/`.
  const topOf = (path: string): string => path.split(/[/.]/)[0] as string;
  const areApart = (one: string, other: string): boolean =>
    topOf(one) !== topOf(other) && nameInFaults(one) !== nameInFaults(other);
  for (const path of paths) {
    const group = LONG ? undefined : groups.find((members) => members.every((one) => areApart(one, path)));
    if (group === undefined) groups.push([path]);
    else group.push(path);
  }
  return groups;
}

/** Computes a digest of all records of a store. Read-only files keep their values in the unnamed database. */
async function recordsOf(path: string): Promise<string> {
  if (!/(?:index|labels|names)\.mdb$/.test(path)) return JSON.stringify(await digestDatabases(path));
  const root = openEnvironment(path, { readOnly: true, encoding: 'binary', keyEncoding: 'binary' });
  const hash = createHash('sha256');
  for (const { key, value } of root.getRange()) hash.update(key as Buffer).update(value as Buffer);
  await root.close();
  return hash.digest('hex');
}

describe('a used state folder', () => {
  let world: World;
  let store: string;
  let sound: string;
  let used: UsedFolder;
  const filesIn = (folder: string): string[] =>
    (readdirSync(folder, { recursive: true, withFileTypes: true }) as import('node:fs').Dirent[])
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .filter((name) => readFileSync(join(folder, name)).length > 0)
      .sort();

  beforeAll(async () => {
    world = newEmptyWorld();
    store = join(world.folder, 'store');
    sound = join(world.folder, 'sound');
    used = await useFolder(world);
    cpSync(store, sound, { recursive: true, preserveTimestamps: true });
    // Releases are hard links to the files in force; after this, each file can be damaged alone.
    restore();
  });
  afterAll(() => world.end());

  const random = seededUint32(20_261_122);
  /** Damages one file below the folder of state. */
  function damage(name: string, harm: Harm): void {
    const path = join(store, name);
    if (harm === 'missing') {
      rmSync(path);
      return;
    }
    const bytes = readFileSync(path);
    if (harm === 'cut' || harm === 'emptied') {
      truncateSync(path, harm === 'cut' ? Math.floor(bytes.length / 2) : 0);
      return;
    }
    const at = random() % bytes.length;
    if (harm === 'flipped') bytes[at] = (bytes[at] as number) ^ (1 << (random() % 7));
    else bytes.fill(0, at, Math.min(bytes.length, at + 512));
    writeFileSync(path, bytes);
  }
  function restore(): void {
    rmSync(store, { recursive: true, force: true });
    cpSync(sound, store, { recursive: true, preserveTimestamps: true });
  }

  const faultsInFiles = (): Promise<readonly string[]> =>
    faultsOfFiles({ dataDir: store, jobsDir: null, isShared: false }, new AbortController().signal);

  /** Whether a damaged store has the records of the sound one. */
  async function hasSameRecords(name: string): Promise<boolean> {
    if (!/\.l?mdb$/.test(name)) return false;
    const [damaged, whole] = [await recordsOf(join(store, name)), await recordsOf(join(sound, name))];
    return damaged === whole;
  }

  it('passes verification', async () => {
    expect(verifyFolder(store, () => {}).faults).toEqual([]);
    expect(await faultsInFiles()).toEqual([]);
  });

  it('has a record of every store that cannot be rebuilt from others', () => {
    const isRecorded = (name: string): boolean =>
      (/\.l?mdb$/.test(name) && !DERIVED.test(name)) ||
      /^(?:(?:labels|names|registers)\/catalogue\.json|installation\.key)$/.test(name);
    const stores = filesIn(sound).filter(isRecorded);
    expect(readInstallation(store)?.stores.map(({ path }) => path)).toEqual(stores);
  });

  it('is reported as damaged after a change of any file', async () => {
    const unseen: string[] = [];
    for (const group of togetherDamaged(filesIn(sound).filter(isCompared))) {
      for (const harm of HARMS) {
        for (const name of group) damage(name, harm);
        const faults = [...verifyFolder(store, () => {}).faults, ...(await faultsInFiles())];
        for (const name of group) {
          if (readFileSync(join(store, name)).equals(readFileSync(join(sound, name)))) continue;
          const isNamed = faults.some((fault) => fault.includes(nameInFaults(name)));
          // A byte of an unreachable page has no checksum and belongs to no record.
          if (!isNamed && !(await hasSameRecords(name))) unseen.push(`${name} ${harm}`);
        }
        for (const name of group) cpSync(join(sound, name), join(store, name), { preserveTimestamps: true });
      }
    }
    restore();
    expect(unseen).toEqual([]);
  });

  /** Requests that would show a changed record in their answers. */
  const questions: readonly (readonly [path: string, body?: unknown])[] = [
    [`/address/ETH/${address(5)}/labels`],
    [`/sanctions/check?address=${address(5)}&chain=ETH`],
    [`/oracle/address/ETH/${address(5)}`],
    ['/screen/bulk', { addresses: [1, 2, 3, 5].map(address), chain: 'ETH', verdict: true }],
    ['/screening', { address: address(5), chain: 'ETH' }],
    ['/trace', { chain: 'ETH', address: address(5), hops: 2 }],
    ['/namescreen/bulk', { names: [{ name: 'Zebulon Quaternion' }, { name: 'Quaternion Works' }] }],
    ['/namescreen/cleared'],
    ['/monitoring/wallets?limit=100'],
    ['/monitoring/alerts'],
    ['/monitoring/channels'],
    ['/usage?limit=20'],
    ['/jobs'],
    ['/jobs/JOB/result'],
  ];
  const commands: readonly (readonly string[])[] = [
    ['prices', 'show', 'ETH', UNI, '--at', '2024-06-02', '--json'],
    ['taint', `${'a1'.padStart(64, '0')}:0`, '--chain', 'BTC', '--json'],
    ['stats', '--json'],
    ['keys', 'list', '--json'],
    ['accounts', 'list', '--json'],
    ['audit', 'verify', '--json'],
    ['ledger', 'verify', '--json'],
    ['lists', '--json'],
    ['index', 'verify', '--json'],
  ];
  const timeless = (text: string): string =>
    text.replace(
      /"[^"]*(?:At|[Aa]sOf|Until|at|checkedOn|ageDays|latency\w*|requestId)":\s*(?:"[^"]*"|[\d.]+|null)/g,
      '""',
    );

  /** Returns the place at which two answers differ, with the text around it in each. */
  function firstDifference(text: string, other: string): string {
    let at = 0;
    while (at < text.length && text[at] === other[at]) at++;
    return `${text.slice(Math.max(0, at - 60), at + 60)} in place of ${other.slice(Math.max(0, at - 60), at + 60)}`;
  }

  interface Told {
    readonly refusal: string | null;
    readonly answers: ReadonlyMap<string, string>;
  }
  async function probe(): Promise<Told> {
    const answers = new Map<string, string>();
    let server: Awaited<ReturnType<World['serve']>>;
    try {
      server = await world.serve();
    } catch (error) {
      return { refusal: (error as Error).message, answers };
    }
    for (const [path, body] of questions) {
      const response = await fetch(`${server.url}/api/v1${path.replace('JOB', used.jobId)}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${used.key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch((error: unknown) => {
        throw new Error(`${path}: ${String(error)} ${server.output().err.slice(-2_000)}`);
      });
      const text = await response.text().catch((error: unknown) => `cut off: ${String(error)}`);
      answers.set(path, response.status < 400 && !text.startsWith('cut off') ? timeless(text) : 'an error');
    }
    expect(await server.stop()).toBe(0);
    if (LONG)
      await Promise.all(
        commands.map(async (command) => {
          const { code, out, err } = await world.run(command);
          expect({ command, signal: code === null ? err : null }).toEqual({ command, signal: null });
          answers.set(command.join(' '), code === 0 ? timeless(out) : 'an error');
        }),
      );
    return { refusal: null, answers };
  }

  /** The short suite takes one file of each kind that is read in its own way. */
  const SHORT =
    /^(?:prices\/prices\.csv|prices\/daily\/.*\.csv|installation\.key|registers\/states\/.*|monitoring\/.*\.lmdb|exposure\/eth\/.*index\.mdb)$/;

  /** Files of labels in force that are made of others: without one of them, the others must not answer alone. */
  const REMOVED = /^snapshots\/(?:CURRENT|snapshot-.*\/labels\.mdb)$/;

  it('is rejected or answers as before after a change of any file', async () => {
    const expected = (await probe()).answers;
    restore();
    expect([...expected].filter(([, answer]) => answer === 'an error')).toEqual([]);
    if (LONG) {
      const again = (await probe()).answers;
      expect([...expected.keys()].filter((path) => again.get(path) !== expected.get(path))).toEqual([]);
    }
    const wrong: string[] = [];
    // The long suite takes minutes, so it prints its progress.
    const note = (line: string): void => void (LONG && process.stdout.write(`${line}\n`));
    for (const name of filesIn(sound)) {
      if (/-lock$/.test(name)) continue;
      const harms: Harm[] = LONG ? [...HARMS] : SHORT.test(name) ? ['flipped'] : [];
      if (REMOVED.test(name)) harms.push('missing');
      for (const harm of harms) {
        restore();
        damage(name, harm);
        const { refusal, answers } = await probe();
        if (refusal !== null) {
          const lines = refusal.split('\n').filter((line) => line.includes('assay: '));
          note(`${name} ${harm}: refused`);
          if (!/serve ended with 1:/.test(refusal) || lines.length !== 1)
            wrong.push(`${name} ${harm}: ${refusal.slice(0, 1_000)}`);
          continue;
        }
        // If an index cannot be read, the answer says so.
        const changed = [...answers].filter(
          ([path, text]) =>
            text !== expected.get(path) && text !== 'an error' && !text.includes('GRAPH_NOT_READ'),
        );
        const errors = [...answers.values()].filter((text) => text === 'an error').length;
        note(`${name} ${harm}: ${errors} errors, ${changed.length} others`);
        for (const [path, text] of changed)
          wrong.push(`${name} ${harm}: ${path} answers ${firstDifference(text, expected.get(path) ?? '')}`);
      }
    }
    restore();
    expect(wrong).toEqual([]);
  }, 3_600_000);
});
