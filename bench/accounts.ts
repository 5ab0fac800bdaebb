/**
 * The ledger with 100,000 accounts and 10 million entries: durable charges with 256 requests in flight, compared with the obvious design (a
 * B-tree in account order, the same group commit); GET /usage over HTTP; the check of all entries; and the start after a kill. Rounds of
 * charges and control take turns, and the medians count.
 * Run: node dist/bench/accounts.js [--entries N] [--accounts N] [--charges N] [--rounds N] [--no-save]
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAccess } from '../src/accounts/access.ts';
import type { Ledger } from '../src/accounts/ledger.ts';
import { type Clock, isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { seededUint32, systemRandom } from '../src/base/random.ts';
import { openLiveStore } from '../src/state/live-store.ts';
import { argument, type BenchReport, median, publish, report, row } from './harness.ts';
import { createUsageApp } from './usage-app.ts';

export interface AccountsBenchOptions {
  readonly accounts: number;
  readonly entries: number;
  /** Charges of a round. */
  readonly charges: number;
  readonly rounds: number;
}

export const ACCOUNTS_BENCH_DEFAULTS: AccountsBenchOptions = {
  accounts: 100_000,
  entries: 10_000_000,
  charges: 100_000,
  rounds: 5,
};

const IN_FLIGHT = 256;
const LOAD_BATCH = 2_000;
/** The history is spread over this many days. */
const HISTORY_DAYS = 60;
const DAY_MS = 86_400_000;
const USAGE_KEYS = 1_000;
const USAGE_CALLS = 5_000;
const USAGE_CLIENTS = 4;

const ANSWER = Buffer.from('{"success":true}');
const REFERENCE = 'screening 0x28c6c06298d514db089934071355e5743bf21d60 ETH';

const accountOf = (number: number): string => `account-${number}`;

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;

interface Round {
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** Runs `one` for `count` numbers, `inFlight` at a time. */
async function inParallel(
  count: number,
  inFlight: number,
  one: (n: number) => Promise<void>,
): Promise<Round> {
  const latencies: number[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < count) {
      const number = next++;
      const startedMs = systemClock.monotonic();
      await one(number);
      latencies.push(systemClock.monotonic() - startedMs);
    }
  };
  const startedMs = systemClock.monotonic();
  await Promise.all(Array.from({ length: inFlight }, client));
  const perSecond = (count / (systemClock.monotonic() - startedMs)) * 1000;
  latencies.sort((a, b) => a - b);
  return { perSecond, p99Ms: quantile(latencies, 0.99) };
}

/** Fills the ledger over the history's days: a purchase for each account, then charges of random accounts. */
async function fill(
  ledger: Ledger,
  options: AccountsBenchOptions,
  setDay: (day: number) => void,
): Promise<void> {
  const next = seededUint32(1);
  const book = (from: number, to: number, one: (n: number) => Promise<unknown>): Promise<unknown> =>
    Promise.all(Array.from({ length: to - from }, (_, offset) => one(from + offset)));
  for (let from = 0; from < options.accounts; from += LOAD_BATCH)
    await book(from, Math.min(options.accounts, from + LOAD_BATCH), (n) =>
      ledger.book({ accountId: accountOf(n), type: 'PURCHASE', amount: 1_000_000, reference: null }),
    );
  // The first entries of each account are its purchase and the free credits of its months.
  const charges = Math.max(0, options.entries - options.accounts * 4);
  for (let from = 0; from < charges; from += LOAD_BATCH) {
    setDay(Math.floor((from / charges) * HISTORY_DAYS));
    await book(from, Math.min(charges, from + LOAD_BATCH), async () => {
      const accountId = accountOf(next() % options.accounts);
      return ledger.commit(await ledger.reserve(accountId, 1), {
        type: 'SCREENING',
        amount: 1,
        reference: REFERENCE,
        answer: () => ANSWER,
      });
    });
  }
}

/** The obvious design: entries in a B-tree in account order, a balance that is read and written, and one commit for all waiting charges. */
function openControl(path: string, accounts: number) {
  const { root } = openLiveStore(path, 1);
  const entries = root.openDB<Buffer, [string, number]>({ name: 'entries', encoding: 'binary' });
  const heads = root.openDB<{ balance: number; sequence: number }, string>({
    name: 'heads',
    encoding: 'json',
  });
  const value = Buffer.alloc(180, 1);
  let queue: { accountId: string; done: () => void }[] = [];
  let isWriting = false;

  async function drain(): Promise<void> {
    isWriting = true;
    while (queue.length > 0) {
      const batch = queue;
      queue = [];
      await root.transaction(() => {
        for (const { accountId } of batch) {
          const head = heads.get(accountId) ?? { balance: 1_000_000, sequence: 0 };
          const after = { balance: head.balance - 1, sequence: head.sequence + 1 };
          entries.putSync([accountId, after.sequence], value);
          heads.putSync(accountId, after);
        }
      });
      for (const { done } of batch) done();
    }
    isWriting = false;
  }

  const charge = (accountId: string): Promise<void> =>
    new Promise((done) => {
      queue.push({ accountId, done });
      if (!isWriting) void drain();
    });

  return {
    /** Twenty entries per account, in order: enough to spread the tree, and quick to load. */
    async fill() {
      for (let from = 0; from < accounts; from += LOAD_BATCH) {
        const names = Array.from({ length: Math.min(LOAD_BATCH, accounts - from) }, (_, n) =>
          accountOf(from + n),
        );
        await root.transaction(() => {
          for (const accountId of names.sort()) {
            for (let sequence = 1; sequence <= 20; sequence++) entries.putSync([accountId, sequence], value);
            heads.putSync(accountId, { balance: 1_000_000, sequence: 20 });
          }
        });
      }
    },
    charge,
    close: () => root.close(),
  };
}

/** GET with a key on a keep-alive connection. Returns the number of bytes in the response. */
function get(url: string, key: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(url, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on('end', () =>
        response.statusCode === 200 ? resolve(bytes) : reject(new Error(`status ${response.statusCode}`)),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}

export async function benchAccounts(
  options: AccountsBenchOptions = ACCOUNTS_BENCH_DEFAULTS,
): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-accounts-'));
  const now = systemClock.now();
  let shiftMs = -HISTORY_DAYS * DAY_MS;
  const clock: Clock = {
    now: () => systemClock.now() + shiftMs,
    monotonic: systemClock.monotonic,
  };
  const parts = { clock, random: systemRandom, log: silentLogger };
  try {
    let access = createAccess({ folder }, parts);
    let ledger = access.ledger();
    const fillStart = systemClock.monotonic();
    await fill(ledger, options, (day) => {
      shiftMs = (day - HISTORY_DAYS) * DAY_MS;
    });
    shiftMs = 0;
    const fillSeconds = (systemClock.monotonic() - fillStart) / 1000;

    const control = openControl(join(folder, 'control.mdb'), options.accounts);
    await control.fill();
    const next = seededUint32(2);
    const someone = (): string => accountOf(next() % options.accounts);
    const rounds: Round[] = [];
    const controls: Round[] = [];
    for (let round = 0; round < options.rounds; round++) {
      controls.push(await inParallel(options.charges, IN_FLIGHT, () => control.charge(someone())));
      rounds.push(
        await inParallel(options.charges, IN_FLIGHT, async () => {
          const reservation = await ledger.reserve(someone(), 1);
          await ledger.commit(reservation, {
            type: 'SCREENING',
            amount: 1,
            reference: REFERENCE,
            answer: () => ANSWER,
          });
        }),
      );
    }
    await control.close();

    const keys: string[] = [];
    for (let key = 0; key < USAGE_KEYS; key++) {
      const accountId = accountOf((key * 97) % options.accounts);
      keys.push((await access.keys.create({ name: 'bench', accountId })).apiKey);
    }
    const app = createUsageApp(access, parts);
    const { url } = await app.listen();
    const agent = new Agent({ keepAlive: true, maxSockets: USAGE_CLIENTS });
    let answerBytes = 0;
    const usage = await inParallel(USAGE_CALLS, USAGE_CLIENTS, async (n) => {
      const bytes = await get(`${url}/api/v1/usage?limit=50`, keys[n % USAGE_KEYS] as string, agent);
      answerBytes += bytes;
    });
    agent.destroy();
    await app.close();

    const verifyStart = systemClock.monotonic();
    const verified = await ledger.verify();
    const verifySeconds = (systemClock.monotonic() - verifyStart) / 1000;
    if (verified.faults.length > 0) throw new Error(`the ledger is not in order: ${verified.faults[0]}`);

    await access.close();
    const openStart = systemClock.monotonic();
    access = createAccess({ folder }, parts);
    ledger = access.ledger();
    await ledger.balance(someone());
    const openMs = systemClock.monotonic() - openStart;
    await access.close();

    const bare = median(controls.map((round) => round.perSecond));
    return report(
      'accounts',
      startedAt,
      {
        accounts: verified.accounts,
        entries: verified.entries,
        'ledger MB': Math.round(statSync(join(folder, 'ledger.mdb')).size / 1e6),
        'filled in s': Math.round(fillSeconds),
        'days of history': Math.round((clock.now() - now) / DAY_MS) + HISTORY_DAYS,
        'in flight': IN_FLIGHT,
        rounds: options.rounds,
        'bytes of a usage answer': Math.round(answerBytes / USAGE_CALLS),
      },
      [
        row('obvious design, durable charges', bare, 'charges/s'),
        row(
          'reserve and commit, durable',
          median(rounds.map((round) => round.perSecond)),
          'charges/s',
          { atLeast: 25_000 },
          bare,
        ),
        row('reserve and commit, p99', median(rounds.map((round) => round.p99Ms)), 'ms', { atMost: 20 }),
        row('GET /usage over HTTP, p99', usage.p99Ms, 'ms', { atMost: 10 }),
        row('GET /usage over HTTP, 4 clients', usage.perSecond, 'answers/s'),
        row('ledger verify', verified.entries / verifySeconds, 'entries/s'),
        row('open to first balance', openMs, 'ms'),
      ],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bench = await benchAccounts({
    accounts: argument('--accounts', ACCOUNTS_BENCH_DEFAULTS.accounts),
    entries: argument('--entries', ACCOUNTS_BENCH_DEFAULTS.entries),
    charges: argument('--charges', ACCOUNTS_BENCH_DEFAULTS.charges),
    rounds: argument('--rounds', ACCOUNTS_BENCH_DEFAULTS.rounds),
  });
  publish(bench);
}
