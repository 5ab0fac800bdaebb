/** Kills a process that charges under load at random moments, and compares the ledger with the charges that it had acknowledged. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerSlot } from '../../src/accounts/idempotency.ts';
import type { Ledger, LedgerEntry } from '../../src/accounts/ledger.ts';
import { type EmbeddedLedger, openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import { chargeOf } from '../conformance/ledger.ts';
import { spawnSync } from '../support/child-process.ts';
import { tempFolder } from './temp-folder.ts';

const WRITER = join(projectRoot, 'dist', 'test', 'accounts', 'ledger-writer.js');
const LONG = process.env.ASSAY_TEST_LONG === '1';
const ROUNDS = LONG ? 50 : 5;
const ACCOUNTS = 20;

interface Acknowledged {
  readonly accountId: string;
  readonly id: string;
  readonly balance: number;
  readonly amount: number;
  readonly request: string;
}

/** Runs the writer and kills it `afterMs` after its first line. Returns the charges that it had acknowledged by then. */
function runAndKill(folder: string, afterMs: number): Promise<Acknowledged[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [WRITER, folder, '64'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    let killed = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (killed || !out.includes('ready')) return;
      killed = true;
      setTimeout(() => child.kill('SIGKILL'), afterMs);
    });
    child.on('error', reject);
    child.on('close', (_code, signal) => {
      if (signal !== 'SIGKILL') return reject(new Error('the writer ended by itself'));
      const whole = out
        .slice(0, out.lastIndexOf('\n'))
        .split('\n')
        .filter((line) => line.startsWith('a'));
      resolve(
        whole.map((line) => {
          const [accountId, id, balance, amount, request] = line.split(' ') as [
            string,
            string,
            string,
            string,
            string,
          ];
          return { accountId, id, balance: Number(balance), amount: Number(amount), request };
        }),
      );
    });
  });
}

const openAt = (folder: string): EmbeddedLedger =>
  openLedger(
    { path: join(folder, 'ledger.mdb') },
    { clock: systemClock, log: silentLogger, freeCredits: () => 10 },
  );

/** Reads every entry of every account, by id. */
async function allEntries(ledger: Ledger): Promise<Map<string, LedgerEntry & { accountId: string }>> {
  const entries = new Map<string, LedgerEntry & { accountId: string }>();
  for (let account = 0; account < ACCOUNTS; account++) {
    const accountId = `a${account}`;
    let cursor: string | undefined;
    do {
      const page = await ledger.usage(accountId, {
        limit: 10_000,
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const entry of page.history) {
        expect(entries.has(entry.id)).toBe(false);
        entries.set(entry.id, { ...entry, accountId });
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
  return entries;
}

describe('kill -9 under load', () => {
  it(
    `${ROUNDS} rounds: loses no acknowledged charge, charges nothing twice and ends every reservation`,
    async () => {
      const folder = tempFolder();
      const seed = new DataView(systemRandom.bytes(4).buffer).getUint32(0);
      const random = seededUint32(seed);
      const acknowledged: Acknowledged[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const said = `seed ${seed}, round ${round}`;
        acknowledged.push(...(await runAndKill(folder.path, random() % 400)));
        const ledger = openAt(folder.path);
        expect((await ledger.verify()).faults, said).toEqual([]);
        const entries = await allEntries(ledger);
        for (const { accountId, id, balance, amount, request } of acknowledged) {
          expect(entries.get(id), said).toMatchObject({ accountId, balance, amount: -amount });
          if (!request) continue;
          const kept = ledger.storedAnswer(accountId, answerSlot(accountId, 'POST', '/p', request));
          expect(Buffer.from(kept?.body ?? []).toString(), said).toBe(String(balance));
        }
        const references = [...entries.values()].flatMap((entry) => entry.reference ?? []);
        expect(new Set(references).size, said).toBe(references.length);
        for (let account = 0; account < ACCOUNTS; account++) {
          const accountId = `a${account}`;
          const { balance, held } = ledger.balance(accountId);
          expect(held, said).toBe(0);
          // The whole balance can be reserved: the dead process holds no credit.
          ledger.release(ledger.reserve(accountId, balance));
        }
        await ledger.close();
      }
      expect(acknowledged.length).toBeGreaterThan(ROUNDS);
      folder.remove();
    },
    LONG ? 600_000 : 60_000,
  );
});

describe('a full disk', () => {
  it('fails charges that cannot be written, keeps reading, and is intact when there is space again', async () => {
    const folder = tempFolder();
    const ledger = openAt(folder.path);
    await ledger.commit(ledger.reserve('a0', 1), chargeOf(1));
    await ledger.close();
    // A file of this process may have at most 256 KiB: a write beyond that fails as on a full disk.
    const script = join(folder.path, 'fill.mjs');
    writeFileSync(
      script,
      `import { openLedger } from ${JSON.stringify(join(projectRoot, 'dist', 'src', 'accounts', 'ledger-lmdb.js'))};
const log = { debug() {}, info() {}, warn() {}, error() {} };
const ledger = openLedger({ path: ${JSON.stringify(join(folder.path, 'ledger.mdb'))} }, { clock: { now: () => Date.now(), monotonic: () => 0 }, log, freeCredits: () => 10 });
const grant = () => ledger.book({ accountId: 'a0', type: 'GRANT', amount: 1, reference: 'x'.repeat(600) });
let granted = 0;
let refused = null;
while (refused === null && granted < 10_000) await grant().then(() => granted++, (error) => { refused = error; });
const again = await grant().then(() => null, (error) => error);
const reservation = ledger.reserve('a0', 1);
const charged = await ledger.commit(reservation, { type: 'SCREENING', amount: 1, reference: 'x'.repeat(600), answer: () => Buffer.from('x') }).then(() => null, (error) => error);
const usage = await ledger.usage('a0', { limit: 1 });
process.stdout.write(JSON.stringify({ granted, codes: [refused?.code, again?.code, charged?.code], message: refused?.message, balance: usage.balance, held: usage.held, faults: (await ledger.verify()).faults }));
await ledger.close();
`,
    );
    const filled = spawnSync('bash', ['-c', 'ulimit -f 256; exec "$0" "$1"', process.execPath, script], {
      encoding: 'utf8',
    });
    expect(filled.status, filled.stderr).toBe(0);
    const told = JSON.parse(filled.stdout) as Record<string, number>;
    expect(told).toMatchObject({
      codes: ['STORAGE_FULL', 'STORAGE_FULL', 'STORAGE_FULL'],
      message: expect.stringContaining('The ledger cannot be written'),
      balance: 9 + (told.granted as number),
      held: 0,
      faults: [],
    });
    expect(told.granted).toBeGreaterThan(10);
    const after = openAt(folder.path);
    expect(after.balance('a0').balance).toBe(told.balance);
    expect((await after.commit(after.reserve('a0', 1), chargeOf(1))).remaining).toBe(
      (told.balance as number) - 1,
    );
    expect((await after.verify()).faults).toEqual([]);
    await after.close();
    folder.remove();
  });
});

/** A user with read access only: this one without the write bits, or `nobody` if this one is root, which ignores them. */
const asReader = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const canBeRead = spawnSync(process.execPath, ['--check', WRITER], { ...asReader }).status === 0;

describe.skipIf(!canBeRead)('a read-only folder', () => {
  it.each(['ledger.mdb', 'another.mdb'])(
    'is reported in one sentence, and not changed (%s)',
    async (name) => {
      const folder = tempFolder();
      const ledger = openAt(folder.path);
      await ledger.commit(ledger.reserve('a0', 1), chargeOf(1));
      await ledger.close();
      const before = readdirSync(folder.path).map(
        (file) => [file, readFileSync(join(folder.path, file))] as const,
      );
      for (const [file] of before) chmodSync(join(folder.path, file), 0o444);
      chmodSync(folder.path, 0o555);
      const script = `
      import { openLedger } from ${JSON.stringify(join(projectRoot, 'dist', 'src', 'accounts', 'ledger-lmdb.js'))};
      try {
        openLedger({ path: ${JSON.stringify(join(folder.path, name))} }, { clock: { now: () => Date.now(), monotonic: () => 0 }, log: console, freeCredits: () => 10 });
        console.log('opened');
      } catch (error) {
        console.log(error.code + ': ' + error.message);
      }`;
      const told = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
        ...asReader,
        encoding: 'utf8',
      });
      expect(told.stdout, told.stderr).toMatch(
        /^STORE_CORRUPT: .*cannot be opened as a store: .*[Pp]ermission denied/,
      );
      chmodSync(folder.path, 0o755);
      for (const [file, bytes] of before)
        expect(readFileSync(join(folder.path, file)).equals(bytes)).toBe(true);
      folder.remove();
    },
  );
});

const STRACE = '/usr/bin/strace';

describe.skipIf(!LONG || !existsSync(STRACE))('system calls (ASSAY_TEST_LONG=1, needs strace)', () => {
  it('writes no acknowledgement before the fdatasync of its charge', () => {
    const folder = tempFolder();
    const trace = join(folder.path, 'trace');
    // With one request in flight, exactly one commit lies between two acknowledgements: that of the second.
    const traced = spawnSync(
      STRACE,
      [
        ...['-f', '-y', '-s', '64', '-o', trace],
        ...['-e', 'trace=openat,pwrite64,pwritev,write,writev,fdatasync,fsync'],
        ...[process.execPath, WRITER, folder.path, '1', '200'],
      ],
      { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
    );
    expect(traced.status, traced.stderr).toBe(0);
    const lines = readFileSync(trace, 'utf8').split('\n');
    // LMDB writes its meta page, which makes a commit visible, through a descriptor of its own that waits for the disk.
    const syncing = lines.map((line) => /O_DSYNC.* = (\d+)<[^>]*ledger\.mdb>/.exec(line)?.[1]).find(Boolean);
    expect(syncing).toBeDefined();
    const isDone = (line: string): boolean => /\) += +\d+$/.test(line) && !line.includes('unfinished');
    let acknowledged = 0;
    let data: 'none' | 'written' | 'synced' = 'none';
    let isCommitted = false;
    for (const line of lines) {
      if (/ write\(1<[^>]*>, "a\d+ /.test(line)) {
        if (acknowledged > 0) expect([data, isCommitted, line]).toEqual(['synced', true, line]);
        acknowledged++;
        data = 'none';
        isCommitted = false;
        continue;
      }
      const call = /(pwrite64|pwritev|writev|write|fdatasync|fsync)\((\d+)<[^>]*ledger\.mdb>/.exec(line);
      const resumed = / <\.\.\. (fdatasync|fsync) resumed>/.test(line);
      if (resumed && data === 'written') data = 'synced';
      if (call === null) continue;
      const [, name = '', descriptor] = call;
      if (name.endsWith('sync')) {
        if (isDone(line) && data === 'written') data = 'synced';
      } else if (descriptor !== syncing) {
        data = 'written';
        isCommitted = false;
      } else isCommitted = data === 'synced';
    }
    expect(acknowledged).toBeGreaterThan(100);
    folder.remove();
  });
});
