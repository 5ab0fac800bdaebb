/**
 * GET /exchange-status under a paced load of 2,000 requests per second, over the shipped exchanges and a register as large as FinCEN's, and
 * the look-up by itself. Run: node dist/bench/registers.js [--seconds S] [--firms N] [--no-save]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { AssayError } from '../src/base/errors.ts';
import { silentLogger } from '../src/base/log.ts';
import { projectRoot } from '../src/base/paths.ts';
import { seededUint32 } from '../src/base/random.ts';
import { loadExchanges, loadRegisterFacts } from '../src/registers/catalogue.ts';
import { createExchangeStatuses } from '../src/registers/exchange-status.ts';
import { importRegisters } from '../src/registers/import.ts';
import { openRegisterStore, type RegisterStore } from '../src/registers/store.ts';
import { argument, type BenchReport, type BenchRow, publish, report, row } from './harness.ts';
import type { PacedClientResult, PacedClientSettings } from './http-paced-client.ts';
import type { RegisterServerReady } from './registers-server.ts';

export interface RegisterBenchOptions {
  readonly perSecond: number;
  readonly seconds: number;
  /** Synthetic firms on the register. */
  readonly firms: number;
  readonly seed: number;
}

const DEFAULTS: RegisterBenchOptions = { perSecond: 2_000, seconds: 10, firms: 25_000, seed: 1 };

const SYLLABLES =
  'an ar bo ca da el fin ga hi in jo ka lo mar na or pa qui ro sa tra un vel wes yo zen'.split(' ');
const FORMS = ['LLC', 'INC', 'CORP', 'CO', 'LTD'];

/** A list in FinCEN's layout, of fictitious firms. */
function fincenText({ firms, seed }: RegisterBenchOptions): string {
  const next = seededUint32(seed);
  const word = (): string =>
    Array.from({ length: 2 + (next() % 3) }, () => SYLLABLES[next() % SYLLABLES.length])
      .join('')
      .toUpperCase();
  const header =
    'LEGAL NAME\tDBA NAME\tSTREET ADDRESS\tCITY\tSTATE\tZIP\tMSB ACTIVITIES\tSTATES OF MSB ACTIVITIES\tALL STATES & TERRITORIES & FOREIGN FLAG**\tFOREIGN LOCATION\t# OF BRANCHES\tAUTH SIGN DATE\tRECEIVED DATE';
  const lines = Array.from(
    { length: firms },
    () =>
      `${word()} ${word()} ${FORMS[next() % FORMS.length]}\t${word()}\t1 ST\tTOWN\tNY\t10001\t409\tNY\t\t\t0\t01/01/2025\t01/02/2025`,
  );
  return `${[header, ...lines].join('\n')}\n`;
}

interface Question {
  readonly name: string;
  readonly jurisdiction: string | null;
}

/** Typical queries: names in any letter case, aliases, domains and LEIs. Every fifth name has a doubled letter. */
function questions(count: number, seed: number): Question[] {
  const next = seededUint32(seed + 1);
  const exchanges = loadExchanges(loadRegisterFacts());
  const pick = <Item>(items: readonly Item[]): Item => items[next() % items.length] as Item;
  return Array.from({ length: count }, () => {
    const { name, aliases, domains, legalEntities } = pick(exchanges);
    const leis = legalEntities.flatMap(({ lei }) => (lei === null ? [] : [lei]));
    const kind = next() % 5;
    const chosen =
      kind === 1 && aliases.length > 0
        ? pick(aliases)
        : kind === 2 && domains.length > 0
          ? pick(domains)
          : kind === 3 && leis.length > 0
            ? pick(leis)
            : name;
    const at = 1 + (next() % Math.max(1, chosen.length - 1));
    const typed =
      kind === 4 && chosen.length >= 6 ? chosen.slice(0, at) + chosen[at - 1] + chosen.slice(at) : chosen;
    const cased = [...typed].map((letter) =>
      next() % 2 === 0 ? letter.toUpperCase() : letter.toLowerCase(),
    );
    return {
      name: cased.join(''),
      jurisdiction: pick([null, null, 'EU', 'US', 'DE']),
    };
  });
}

const queryOf = ({ name, jurisdiction }: Question): string =>
  `name=${encodeURIComponent(name)}${jurisdiction === null ? '' : `&jurisdiction=${jurisdiction}`}`;

function ask<Answer>(child: ChildProcess, message: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`A process of the benchmark ended with ${code}.`)));
    child.once('message', (answer) => resolve(answer as Answer));
    child.send(message as object);
  });
}

const script = (name: string): string => join(projectRoot, 'dist', 'bench', `${name}.js`);
const STDIO = ['ignore', 'inherit', 'inherit', 'ipc'] as const;

/** Of the questions, some have a letter twice, and a short word of a name is another one then. */
const UNKNOWN_MAX = 0.02;

/**
 * Returns the questions that have an answer.
 *
 * @throws if more than a few have none
 */
function answerable(store: RegisterStore, asked: readonly Question[]): Question[] {
  const statuses = createExchangeStatuses({ store, log: silentLogger, clock: systemClock });
  const known = asked.filter(({ name, jurisdiction }) => {
    try {
      statuses.answer(name, jurisdiction ?? undefined);
      return true;
    } catch (error) {
      if (error instanceof AssayError) return false;
      throw error;
    }
  });
  if (known.length < asked.length * (1 - UNKNOWN_MAX))
    throw new Error(`${asked.length - known.length} of ${asked.length} names are unknown.`);
  return known;
}

/** The look-up without HTTP: microseconds per query, none of them cached. */
function lookupRows(store: RegisterStore, asked: readonly Question[]): BenchRow[] {
  const startedAt = systemClock.monotonic();
  const statuses = createExchangeStatuses({ store, log: silentLogger, clock: systemClock });
  statuses.answer('Kraken', undefined);
  const loadedMs = systemClock.monotonic() - startedAt;
  const times = asked.map(({ name, jurisdiction }) => {
    const from = systemClock.monotonic();
    statuses.answerBytes(name, jurisdiction ?? undefined);
    return (systemClock.monotonic() - from) * 1000;
  });
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  return [
    row('directory read and indexed at once', loadedMs, 'ms'),
    row('look-up, p50', at(0.5), 'µs'),
    row('look-up, p99', at(0.99), 'µs'),
  ];
}

/** Measures over HTTP, with the load generator on the same cores. */
export async function benchRegisters(options: Partial<RegisterBenchOptions> = {}): Promise<BenchReport> {
  const chosen = { ...DEFAULTS, ...options };
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-registers-'));
  const children: ChildProcess[] = [];
  const start = (name: string): ChildProcess => {
    const child = fork(script(name), { stdio: [...STDIO] });
    children.push(child);
    return child;
  };
  try {
    mkdirSync(join(folder, 'store'));
    const file = join(folder, 'fincen-2026-01-01.txt');
    writeFileSync(file, fincenText(chosen));
    const store = openRegisterStore({ dataDir: join(folder, 'store') });
    await importRegisters({ source: 'fincen', files: [file] }, { store, clock: systemClock });
    const asked = answerable(store, questions(20_000, chosen.seed));
    const lookups = lookupRows(store, asked);
    const { port, key } = await ask<RegisterServerReady>(start('registers-server'), join(folder, 'store'));
    const requests = asked.map(
      (question) =>
        `GET /api/v1/exchange-status?${queryOf(question)} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
    const paced = (seconds: number, sent: readonly string[]): Promise<PacedClientResult> =>
      ask(start('http-paced-client'), {
        port,
        perSecond: chosen.perSecond,
        seconds,
        requests: sent,
      } satisfies PacedClientSettings);
    await paced(2, requests);
    // Requests without any work at the same rate: the best result of this machine under its current load.
    const control = await paced(chosen.seconds, ['GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n']);
    const load = await paced(chosen.seconds, requests);
    const rows = [
      row('answers a second', load.answered / chosen.seconds, 'req/s', { atLeast: chosen.perSecond * 0.99 }),
      row('failed', load.failed, 'requests', { atMost: 0 }),
      row('p50, beside /health', load.p50Ms, 'ms', null, control.p50Ms),
      row('p99, beside /health', load.p99Ms, 'ms', { atMost: 2 }, control.p99Ms),
      row('slowest, beside /health', load.maxMs, 'ms', null, control.maxMs),
      ...lookups,
    ];
    return report('registers', startedAt, { ...chosen, questions: asked.length }, rows);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bench = await benchRegisters({
    seconds: argument('--seconds', DEFAULTS.seconds),
    firms: argument('--firms', DEFAULTS.firms),
  });
  publish(bench);
}
