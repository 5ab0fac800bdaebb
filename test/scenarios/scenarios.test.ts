/**
 * The scenarios of scenarios.json over HTTP (screening, KYT and oracle) and on the command line, once with prices and once without: the
 * score lies within its bounds, and verdict, decision and reasons are as expected.
 */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServices } from '../../src/app/services.ts';
import { systemClock } from '../../src/base/clock.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { addScreenCommand } from '../../src/cli/lookup.ts';
import { runProgram } from '../../src/cli/program.ts';
import type { Services } from '../../src/cli/services.ts';
import { loadConfig } from '../../src/config/config.ts';
import { newWorld, type Outcome, patiently, type RunningServer, type World } from '../e2e/program.ts';
import {
  type Expectation,
  roleAddress,
  type Scenario,
  writeLabelFiles,
  writeTransferFiles,
} from './world.ts';

const SCENARIOS = JSON.parse(
  readFileSync(join(projectRoot, 'test', 'scenarios', 'scenarios.json'), 'utf8'),
) as Scenario[];

const IS_LONG = process.env.ASSAY_TEST_LONG === '1';
/** All of them over HTTP with prices. Without prices, those whose expectations differ, and in the short suite a third of the others. */
const WITHOUT_PRICES = SCENARIOS.filter(
  ({ withoutPrices }, at) => IS_LONG || withoutPrices !== undefined || at % 3 === 0,
);
/** The command screens as the server does: in the short suite, a quarter shows it. */
const isOnCommandLine = (_: Scenario, at: number): boolean => IS_LONG || at % 4 === 0;

/** A key may screen 20 times a minute; so many keys ask all scenarios without waiting. */
const KEYS = Math.ceil(SCENARIOS.length / 20) + 1;
const SUBJECT = 'subject';

interface Answers {
  readonly screening: Answer;
  readonly kyt: Answer;
  readonly oracle: Answer;
}

interface Answer {
  readonly riskScore?: number;
  readonly score?: number;
  readonly verdict?: string;
  readonly decision?: string;
  readonly sanctioned?: boolean;
  readonly assessed: boolean;
  readonly entity: { readonly name: string } | null;
  readonly reasons: readonly { readonly code: string; readonly severity: string }[];
  readonly flags?: readonly { readonly severity: string }[];
  readonly scoreBreakdown?: readonly { readonly points: number }[];
}

it('has 200 scenarios with unique names', () => {
  expect(SCENARIOS.length).toBeGreaterThanOrEqual(200);
  expect(new Set(SCENARIOS.map(({ id }) => id)).size).toBe(SCENARIOS.length);
  expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
});

/** Runs a command of the program in this process: four hundred processes would take longer than all scenarios. */
async function runCommand(args: readonly string[], parts: Services): Promise<Outcome> {
  let out = '';
  let err = '';
  const into = (add: (text: string) => void): Writable =>
    new Writable({
      write(chunk, _encoding, written) {
        add(String(chunk));
        written();
      },
    });
  const terminal = {
    out: into((text) => (out += text)),
    err: into((text) => (err += text)),
    clock: systemClock,
    signal: new AbortController().signal,
  };
  // Opened once for all commands, and closed after the last.
  const kept: Services = Object.create(parts, { close: { value: async () => {} } });
  const code = await runProgram([addScreenCommand], args, terminal, () => kept, '0');
  return { code, out, err };
}

const codesOf = ({ reasons }: Answer): Set<string> => new Set(reasons.map(({ code }) => code));

function checkReasons(answer: Answer, { reasons = [], notReasons = [] }: Expectation): void {
  const codes = codesOf(answer);
  for (const wanted of reasons)
    expect(
      wanted.split('|').some((code) => codes.has(code)),
      `${wanted} is not among ${[...codes].join(', ')}`,
    ).toBe(true);
  for (const code of notReasons) expect([...codes]).not.toContain(code);
}

function checkScore(score: number | undefined, { score: [least, greatest] }: Expectation): void {
  expect(score).toBeGreaterThanOrEqual(least);
  expect(score).toBeLessThanOrEqual(greatest);
}

function checkScreening(screening: Answer, expected: Expectation): void {
  checkScore(screening.riskScore, expected);
  checkReasons(screening, expected);
  const points = (screening.scoreBreakdown ?? []).reduce((sum, row) => sum + row.points, 0);
  expect(Math.min(100, points)).toBe(screening.riskScore);
  if (expected.sanctioned !== undefined) expect(screening.sanctioned).toBe(expected.sanctioned);
  if (expected.assessed !== undefined) expect(screening.assessed).toBe(expected.assessed);
  if (expected.entity !== undefined) expect(screening.entity?.name ?? null).toBe(expected.entity);
}

const isGrave = (rows: readonly { readonly severity: string }[] = []): boolean =>
  rows.some(({ severity }) => severity === 'HIGH' || severity === 'CRITICAL');

/** Facts on which all answers about an address agree. A walk that was cut short has fewer facts than the index. */
function checkConsistency({ screening, kyt, oracle }: Answers): void {
  const isCut = screening.reasons.some(({ code }) => code === 'WALK_CUT');
  const of = ({ reasons }: Answer): string[] =>
    reasons.filter(({ code }) => code !== 'WALK_CUT').map(({ code, severity }) => `${severity} ${code}`);
  if (oracle.assessed) expect(of(oracle)).toEqual(of(screening));
  if (isGrave(kyt.flags)) expect(isGrave(kyt.reasons), 'a grave flag has a grave reason').toBe(true);
  if (oracle.verdict !== 'safe') return;
  expect(isGrave([...oracle.reasons, ...screening.reasons, ...kyt.reasons, ...(kyt.flags ?? [])])).toBe(
    false,
  );
  if (!isCut) expect(kyt.decision, 'safe is never REVIEW or BLOCK').toBe('ALLOW');
}

async function done(world: World, args: readonly string[]): Promise<void> {
  const { code, err } = await world.here(args);
  expect(code, `${args.join(' ')}: ${err}`).toBe(0);
}

/** Labels and lists are the same in both modes: imported once, and copied. */
const imported: World = newWorld();
beforeAll(async () => {
  const today = new Date().toISOString().slice(0, 10);
  const imports = writeLabelFiles(imported.folder, SCENARIOS, today);
  for (const args of [...imports, ['index', 'build']]) await done(imported, args);
});
afterAll(() => imported.end());

describe.each([
  { mode: 'with prices', options: [], scenarios: SCENARIOS },
  { mode: 'without prices', options: ['--no-prices'], scenarios: WITHOUT_PRICES },
])('scenarios $mode', ({ options, scenarios }) => {
  const world: World = newWorld();
  let server: RunningServer;
  let parts: Services | null = null;
  const keys: string[] = [];
  const expectedOf = (scenario: Scenario): Expectation =>
    options.length > 0 && scenario.withoutPrices ? scenario.withoutPrices : scenario.expect;

  beforeAll(async () => {
    cpSync(join(imported.folder, 'store'), join(world.folder, 'store'), {
      recursive: true,
      preserveTimestamps: true,
    });
    // Only of the scenarios that are screened: three of the others have 34,000 transfers.
    for (const [chain, path] of writeTransferFiles(world.folder, scenarios))
      await done(world, ['ingest', 'ndjson', path, '--chain', chain, ...options]);
    await done(world, ['exposure', 'build']);
    server = await world.serve();
    keys.push(server.firstKey);
    await done(world, ['credits', 'grant', 'local', '10000']);
    // A key may create ten keys a minute.
    for (let made = 0; keys.length < KEYS; made++) {
      const by = keys[Math.floor(made / 10)] as string;
      keys.push((await ask<{ readonly apiKey: string }>('/keys', { name: `scenarios ${made}` }, by)).apiKey);
    }
  });
  afterAll(async () => {
    await parts?.close();
    await world.end();
  });

  let scenariosAsked = 0;
  const nextKey = (): string => keys[scenariosAsked % keys.length] as string;
  async function ask<T = Answer>(path: string, body?: object, key = nextKey()): Promise<T> {
    const response = await patiently(() =>
      fetch(`${server.url}/api/v1${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    const answer = (await response.json()) as { data: T };
    expect(response.status, JSON.stringify(answer)).toBe(200);
    return answer.data;
  }

  async function answersTo(scenario: Scenario): Promise<Answers> {
    const { chain } = scenario;
    const address = roleAddress(scenario, SUBJECT);
    scenariosAsked++;
    return {
      screening: await ask('/screening', { chain, address }),
      kyt: await ask('/kyt', { chain, address }),
      oracle: await ask(`/oracle/address/${chain}/${address}`),
    };
  }

  it.each(scenarios)('$id over HTTP: $name', async (scenario) => {
    const expected = expectedOf(scenario);
    const { screening, kyt, oracle } = await answersTo(scenario);
    checkScreening(screening, expected);
    expect(oracle.score, 'the oracle agrees with the screening').toBe(screening.riskScore);
    expect(oracle.sanctioned).toBe(screening.sanctioned);
    if (expected.verdict !== undefined) expect(oracle.verdict).toBe(expected.verdict);
    expect(kyt.riskScore).toBe(screening.riskScore);
    if (expected.decision !== undefined) expect(kyt.decision).toBe(expected.decision);
    checkConsistency({ screening, kyt, oracle });
  });

  it.each(scenarios.filter(isOnCommandLine))('$id on the command line: $name', async (scenario) => {
    const args = ['screen', scenario.chain, roleAddress(scenario, SUBJECT), '--json'];
    parts ??= createServices(
      loadConfig({ ASSAY_DATA_DIR: join(world.folder, 'store'), ASSAY_SYNC: 'off' }),
      '0',
    );
    const { code, out, err } = await runCommand(args, parts);
    expect(code, err).toBe(0);
    checkScreening(JSON.parse(out) as Answer, expectedOf(scenario));
  });
});
