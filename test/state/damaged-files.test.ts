/** Whatever happens to the bytes of a store, a process that starts on it either refuses it with one sentence or answers as before. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { seededUint32 } from '../../src/base/random.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { openTransferStore } from '../../src/graph/store.ts';
import { currentSnapshot } from '../../src/labels/index/folder.ts';
import { buildNameIndex } from '../../src/names/index/build.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { isAsRecorded, readRecordedState } from '../../src/state/page-sums.ts';
import { verifyFile } from '../../src/state/sound-file.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { build, key, template, writeSegment } from '../labels/index/world.ts';
import { spawnSync } from '../support/child-process.ts';

const PROBE = join(projectRoot, 'dist', 'bundled', 'store-probe.cjs');
const PAGE = 4096;
const LONG = process.env.ASSAY_TEST_LONG === '1';
const folder = tempFolder();
const nextRandom = seededUint32(36);
const deps = {
  clock: systemClock,
  log: silentLogger,
  // The same records in every run, so that damage that has an effect can be repeated.
  random: { bytes: (count: number) => Uint8Array.from({ length: count }, () => nextRandom() & 0xff) },
};

const FILES = {
  ledger: 'accounts/ledger.mdb',
  keys: 'accounts/keys.mdb',
  transfers: 'transfers/eth.mdb',
  names: 'names/names.mdb',
  labels: 'labels/labels.mdb',
} as const;
type Kind = keyof typeof FILES;
const KINDS = Object.keys(FILES) as Kind[];

const transferOf = (index: number): Transfer => ({
  chain: 'ETH',
  txHash: `0x${(index >> 1).toString(16).padStart(64, '0')}`,
  position: `log:${index}`,
  blockNumber: 1 + (index >> 4),
  timestampMs: 1_600_000_000_000 + index,
  from: `0x${(1 + (index % 7)).toString(16).padStart(40, '0')}`,
  to: `0x${(1 + ((index * 31) % 900)).toString(16).padStart(40, '0')}`,
  asset: 'ETH',
  amount: BigInt(index),
  decimals: 18,
  valueUsd: index / 100,
});

const sound = join(folder.path, 'sound');

beforeAll(async () => {
  const ledger = openLedger({ path: join(sound, FILES.ledger) }, { ...deps, freeCredits: () => 10 });
  for (let entry = 0; entry < 600; entry++)
    await ledger.book({
      accountId: `a${entry % 20}`,
      type: 'PURCHASE',
      amount: 1 + entry,
      reference: null,
      once: `fund:${entry}`,
    });
  await ledger.close();
  const keys = openKeyStore({ path: join(sound, FILES.keys) }, deps);
  for (let number = 0; number < 30; number++) await keys.create({ name: `key ${number}` });
  await keys.close();
  const transfers = openTransferStore({ path: join(sound, 'transfers'), readOnly: false });
  await transfers.ingest(Array.from({ length: 2_000 }, (_, index) => transferOf(index)));
  await transfers.close();
  mkdirSync(join(sound, 'names'));
  await buildNameIndex(
    Array.from({ length: 200 }, (_, number) => ({
      entityId: String(number),
      list: 'OFAC_SDN',
      listType: 'sanctions' as const,
      schema: 'Person' as const,
      names: [{ text: `Person ${number} Petrov`, kind: 'primary' as const, weak: false, script: null }],
      birthDates: [],
      countries: [],
      programs: [],
      listedAt: null,
      delistedAt: null,
      sourceUrl: null,
    })),
    join(sound, 'names'),
    { clock: systemClock },
  );
  await writeSegment(
    join(folder.path, 'one'),
    Array.from({ length: 2_000 }, (_, number) => ({
      key: key(number % 1_600),
      template: template(`E ${number % 7}`),
    })),
  );
  await build(join(folder.path, 'snapshots'), [join(folder.path, 'one')]);
  cpSync(currentSnapshot(join(folder.path, 'snapshots')) as string, join(sound, 'labels'), {
    recursive: true,
  });
});
afterAll(() => folder.remove());

interface Told {
  readonly signal: NodeJS.Signals | null;
  readonly status: number | null;
  readonly out: string;
}

/** Starts one process over several folders, one after the other: the start takes longer than what it reads. */
function probeAll(kind: Kind, folders: readonly string[]): readonly Told[] {
  const paths = folders.map((data) => join(data, FILES[kind]));
  const { signal, stdout, stderr } = spawnSync(process.execPath, [PROBE, kind, ...paths], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  const lines = stdout.split('\n').slice(0, -1);
  if (signal === null && lines.length < folders.length) throw new Error(`The probe ended early: ${stderr}`);
  // A signal ended the process at the first folder that has no line, or after the last one.
  const lastAt = Math.min(lines.length, folders.length - 1);
  return folders.map((_, at) => ({
    signal: at >= lastAt ? signal : null,
    status: lines[at] === undefined ? null : Number(lines[at][0]),
    out: lines[at]?.slice(2) ?? '',
  }));
}
const probe = (kind: Kind, data: string): Told => probeAll(kind, [data])[0] as Told;

let copies = 0;
function copyOf(data: string): string {
  const path = join(folder.path, `copy-${copies++}`);
  cpSync(data, path, { recursive: true });
  return path;
}
/** Copies the folder of a store, as a backup of the machine does. */
function copy(kind: Kind): string {
  const path = join(folder.path, `copy-${copies++}`);
  const part = dirname(FILES[kind]);
  cpSync(join(sound, part), join(path, part), { recursive: true });
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('-lock')) rmSync(join(path, name));
  return path;
}

const expected = new Map<Kind, string>();
function answersOf(kind: Kind): string {
  const known = expected.get(kind);
  if (known !== undefined) return known;
  const told = probe(kind, copy(kind));
  expect(told).toMatchObject({ signal: null, status: 0 });
  expected.set(kind, told.out);
  return told.out;
}

type Outcome = 'refused' | 'as before';
/** Fails unless each store is refused with a sentence that names it, or answers as before the damage. */
const expectNoOtherAnswers = (kind: Kind, folders: readonly string[]): Outcome[] =>
  outcomesOf(kind, folders, probeAll(kind, folders));
const outcomesOf = (kind: Kind, folders: readonly string[], all: readonly Told[]): Outcome[] =>
  all.map((told, at) => {
    expect(told.signal).toBeNull();
    if (told.status === 0) {
      expect(told.out).toBe(answersOf(kind));
      return 'as before';
    }
    const { code, message } = JSON.parse(told.out) as { code: string; message: string };
    expect(code).toBe('STORE_CORRUPT');
    expect(message).toContain(join(folders[at] as string, FILES[kind]));
    return 'refused';
  });

describe.each(KINDS)('the store of %s', (kind) => {
  it('is rejected with both sizes if it is truncated anywhere', () => {
    const { size } = statSync(join(sound, FILES[kind]));
    answersOf(kind);
    const lengths = [1, 100, PAGE, 2 * PAGE, Math.floor(size / 2), size - PAGE, size - 1];
    const folders = lengths.map((bytes) => {
      const data = copy(kind);
      const file = join(data, FILES[kind]);
      truncateSync(file, bytes);
      rmSync(file.replace('.mdb', '.size'), { force: true });
      return data;
    });
    for (const [at, told] of probeAll(kind, folders).entries()) {
      const [bytes, file] = [lengths[at] as number, join(folders[at] as string, FILES[kind])];
      expect({ bytes, ...told }).toMatchObject({ signal: null, status: 1 });
      const { code, message } = JSON.parse(told.out) as { code: string; message: string };
      expect(code).toBe('STORE_CORRUPT');
      expect(message).toContain(`${file} is damaged: it has ${bytes} bytes, and `);
      if (bytes >= 2 * PAGE) expect(message).toContain(String(size));
    }
  });

  it('reads a compacted copy, and rejects one that is truncated or changed', async () => {
    const data = copy(kind);
    const file = join(data, FILES[kind]);
    const root = openEnvironment(join(sound, FILES[kind]), { readOnly: true, maxDbs: 32 });
    rmSync(file);
    await root.backup(file, true);
    await root.close();
    rmSync(file.replace('.mdb', '.size'), { force: true });
    // If the checksums of the replaced file are still beside it, the store is refused, and the message says how to proceed.
    const replaced = probe(kind, data);
    if (replaced.status !== 0) expect(JSON.parse(replaced.out).message).toContain(`remove ${file}-sums`);
    rmSync(`${file}-sums`, { force: true });
    const compacted = readFileSync(file);
    const changedTo = (bytes: Uint8Array): string => {
      const changed = copyOf(data);
      writeFileSync(join(changed, FILES[kind]), bytes);
      return changed;
    };
    const lengths = [2 * PAGE, Math.floor(compacted.length / 2), compacted.length - PAGE];
    // A transaction number in the header that does not match the file.
    const headers = [0, 1].map((page) => {
      const changed = Buffer.from(compacted);
      changed.writeBigUInt64LE(changed.readBigUInt64LE(page * PAGE + 152) + 5_000n, page * PAGE + 152);
      return changed;
    });
    const changes = [...lengths.map((bytes) => compacted.subarray(0, bytes)), ...headers].map(changedTo);
    const outcomes = expectNoOtherAnswers(kind, [data, ...changes]);
    // The last header may be the one in force, which may name a later transaction, because all of its pages are present.
    expect(outcomes.slice(0, -1)).toEqual(['as before', 'refused', 'refused', 'refused', 'refused']);
  });

  it('returns the same data or is rejected, whatever bytes are flipped, zeroed or cut', () => {
    const random = seededUint32(20_261_122 + KINDS.indexOf(kind));
    const below = (bound: number): number => random() % bound;
    const folders = Array.from({ length: LONG ? 48 : 6 }, () => {
      const data = copy(kind);
      const file = join(data, FILES[kind]);
      const bytes = readFileSync(file);
      const harm = below(4);
      if (harm === 0)
        for (let flips = 1 + below(3); flips > 0; flips--) {
          const at = below(bytes.length);
          bytes[at] = (bytes[at] as number) ^ (1 << below(8));
        }
      if (harm === 1) {
        const at = below(bytes.length);
        for (let flips = 1 + below(64); flips > 0; flips--) bytes[(at + flips) % bytes.length] = below(256);
      }
      if (harm === 2) {
        const page = below(bytes.length / PAGE);
        bytes.fill(0, page * PAGE, (page + 1) * PAGE);
      }
      writeFileSync(file, bytes);
      if (harm === 3) truncateSync(file, below(bytes.length));
      return data;
    });
    expect(expectNoOtherAnswers(kind, folders)).toContain('refused');
    for (const data of folders) rmSync(data, { recursive: true });
  });

  describe('without its checksums', () => {
    const lostSums = (change: (file: string) => void): string => {
      const data = copy(kind);
      const file = join(data, FILES[kind]);
      change(file);
      rmSync(`${file}-sums`, { force: true });
      return data;
    };
    let ofCuts: readonly Told[];
    let ofHeaders: readonly Told[];
    let ofPages: readonly Told[];
    let folders: readonly string[];
    // One process reads the damaged files of all three tests.
    beforeAll(() => {
      const { size } = statSync(join(sound, FILES[kind]));
      const cuts = [1, PAGE, 3 * PAGE, Math.floor(size / 2), size - PAGE, size - 1].map((bytes) =>
        lostSums((file) => {
          rmSync(file.replace('.mdb', '.size'), { force: true });
          truncateSync(file, bytes);
        }),
      );
      const headers = [0, 1].map((header) =>
        lostSums((file) => {
          const bytes = readFileSync(file);
          // The flags of the file, after those of the page (24 bytes), the map (24) and the page size (4).
          const at = header * PAGE + 52;
          bytes.writeUInt16LE(bytes.readUInt16LE(at) | 0x2000, at);
          writeFileSync(file, bytes);
        }),
      );
      const random = seededUint32(7 + KINDS.indexOf(kind));
      const pages = Array.from({ length: LONG ? 32 : 4 }, () =>
        lostSums((file) => {
          const bytes = readFileSync(file);
          // Changes the start of a page: LMDB follows the headers of tree pages, which are there.
          const page = random() % (bytes.length / PAGE);
          for (let flips = 0; flips < 8; flips++) bytes[page * PAGE + (random() % 64)] = random() % 256;
          writeFileSync(file, bytes);
        }),
      );
      folders = [...cuts, ...headers, ...pages];
      answersOf(kind);
      const told = probeAll(kind, folders);
      ofCuts = told.slice(0, cuts.length);
      ofHeaders = told.slice(cuts.length, -pages.length);
      ofPages = told.slice(-pages.length);
      for (const data of folders) rmSync(data, { recursive: true });
    });

    it('is refused where it is cut, or was only cut behind its last record', () => {
      const outcomes = outcomesOf(kind, folders, ofCuts);
      expect(outcomes.slice(0, 4)).toEqual(['refused', 'refused', 'refused', 'refused']);
    });

    it('is refused if a header says that it is encrypted', () => {
      expect(outcomesOf(kind, folders.slice(ofCuts.length), ofHeaders)).toEqual(['refused', 'refused']);
    });

    it('never ends a process by a signal', () => {
      for (const { signal } of ofPages) expect(signal).toBeNull();
    });
  });
});

describe('a store that is not closed in order', () => {
  const BUILT = join(projectRoot, 'dist', 'src');
  /** Runs a script in a process of its own, with the ledger of a folder open as `ledger`, and returns the process at once. */
  const withLedger = (data: string, script: string): ReturnType<typeof spawn> =>
    spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { openLedger } from '${BUILT}/accounts/ledger-lmdb.js';
         import { systemClock } from '${BUILT}/base/clock.js';
         import { silentLogger } from '${BUILT}/base/log.js';
         const ledger = openLedger({ path: '${join(data, FILES.ledger)}' },
           { clock: systemClock, log: silentLogger, freeCredits: () => 10 });
         const book = (once) => ledger.book({ accountId: 'a1', type: 'PURCHASE', amount: 1, reference: null, once });
         ${script}`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
  const killed = async (): Promise<string> => {
    const data = copy('ledger');
    const child = withLedger(data, "await book('killed'); process.kill(process.pid, 'SIGKILL');");
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
    expect(signal).toBe('SIGKILL');
    return data;
  };

  it('starts after a kill, and has checksums of all pages again', async () => {
    const data = await killed();
    const file = join(data, FILES.ledger);
    const before = readRecordedState(file);
    expect(before !== null && isAsRecorded(file, before)).toBe(false);
    expect(probe('ledger', data)).toMatchObject({ signal: null, status: 0 });
    expect(verifyFile(file)).toMatchObject({ formOnly: 0 });
  });

  it('is rejected after a kill if an older page has changed', async () => {
    const recorded = readRecordedState(join(sound, FILES.ledger));
    const left = await killed();
    const random = seededUint32(99);
    const changes: string[] = [];
    while (changes.length < 10) {
      const bytes = readFileSync(join(left, FILES.ledger));
      const page = 2 + (random() % (bytes.length / PAGE - 2));
      // Pages that the killed process wrote have no checksum; only their form can be checked.
      if (Number(bytes.readBigUInt64LE(page * PAGE + 8)) > (recorded?.transaction ?? 0)) continue;
      const at = page * PAGE + (random() % PAGE);
      bytes[at] = (bytes[at] as number) ^ 1;
      const data = copyOf(left);
      writeFileSync(join(data, FILES.ledger), bytes);
      changes.push(data);
    }
    const [whole, ...outcomes] = probeAll('ledger', [left, ...changes]);
    const balances = JSON.parse(whole?.out ?? '').read.slice(1);
    for (const { signal, status, out } of outcomes) {
      expect(signal).toBeNull();
      if (status === 0) expect(JSON.parse(out).read.slice(1)).toEqual(balances);
    }
    expect(outcomes.map(({ status }) => status)).toContain(1);
  });

  it('is never rejected while another process writes to it', async () => {
    const data = copy('ledger');
    const file = join(data, FILES.ledger);
    const child = withLedger(
      data,
      "await book('first'); console.log('writing'); for (let n = 0; ; n++) await book('more:' + n);",
    );
    try {
      await once(child.stdout as NodeJS.ReadableStream, 'data');
      for (let round = 0; round < 30; round++) expect(verifyFile(file).bytes).toBeGreaterThan(0);
      for (let round = 0; round < (LONG ? 4 : 2); round++)
        expect(probe('ledger', data)).toMatchObject({ signal: null, status: 0 });
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    expect(probe('ledger', data)).toMatchObject({ signal: null, status: 0 });
  });
});
