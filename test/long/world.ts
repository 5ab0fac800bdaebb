/** A folder of state as a busy installation has it: a graph of real size, labels on it, its exposure index, accounts with credits. */
import { createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { powerLawAddress, writePowerLawCsv } from '../../scripts/power-law-graph.ts';
import { createAccess } from '../../src/accounts/access.ts';
import type { RateOverrides } from '../../src/accounts/plans.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { newWorld, type World } from '../e2e/program.ts';

export const GRAPH = { addresses: 60_000, edges: 300_000, seed: 1 } as const;
export const ACCOUNTS = 200;
/** One label per this many addresses: most addresses of a chain are unknown. */
const LABELLED_EVERY = 25;
const CATEGORIES = ['EXCHANGE', 'DEX', 'GAMBLING', 'BRIDGE', 'MIXER', 'SCAM', 'DARKNET_MARKET'];
/** Finite but out of reach, so that the load does not depend on the key that sends it. */
const REQUESTS_A_MINUTE = 1_000_000;
const RATE_LIMITS: RateOverrides = {
  screening: REQUESTS_A_MINUTE,
  kyt: REQUESTS_A_MINUTE,
  trace: REQUESTS_A_MINUTE,
  entity: REQUESTS_A_MINUTE,
  'exchange-status': REQUESTS_A_MINUTE,
  monitoring: REQUESTS_A_MINUTE,
  names: REQUESTS_A_MINUTE,
  intel: REQUESTS_A_MINUTE,
  sanctions: REQUESTS_A_MINUTE,
  oracle: REQUESTS_A_MINUTE,
  keys: REQUESTS_A_MINUTE,
};

export interface BusyWorld extends World {
  /** Keys of as many accounts, all with credits. */
  readonly keys: readonly string[];
}

async function writeLabels(path: string): Promise<void> {
  const out = createWriteStream(path);
  out.write('address,chain,entity,name,category,confidence\n');
  for (let number = 3; number < GRAPH.addresses; number += LABELLED_EVERY) {
    const category = CATEGORIES[number % CATEGORIES.length];
    const entity = `${category?.toLowerCase()}-${number % 400}`;
    out.write(`${powerLawAddress(number)},ETH,${entity},${entity},${category},0.9\n`);
  }
  out.end();
  await finished(out);
}

async function makeKeys(world: World): Promise<string[]> {
  const access = createAccess(
    { folder: join(world.folder, 'store', 'accounts') },
    { clock: systemClock, random: systemRandom, log: silentLogger },
  );
  try {
    const keys: string[] = [];
    for (let index = 0; index < ACCOUNTS; index++) {
      const accountId = `account-${index}`;
      const created = await access.keys.create({
        name: accountId,
        accountId,
        plan: 'ENTERPRISE',
        rateLimits: RATE_LIMITS,
      });
      keys.push(created.apiKey);
      await access.ledger().book({ accountId, type: 'GRANT', amount: 1_000_000, reference: null });
    }
    return keys;
  } finally {
    await access.close();
  }
}

/** Creates the folder by the commands that an operator runs. */
export async function busyWorld(): Promise<BusyWorld> {
  const world = newWorld();
  const transfers = join(world.folder, 'transfers.csv');
  const labels = join(world.folder, 'labels.csv');
  writePowerLawCsv(transfers, GRAPH);
  await writeLabels(labels);
  for (const args of [
    ['import', 'own', labels],
    ['index', 'build'],
    ['ingest', 'ndjson', transfers, '--chain', 'ETH', '--no-prices'],
    ['exposure', 'build'],
  ]) {
    const { code, err } = await world.run(args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${err}`);
  }
  return { ...world, keys: await makeKeys(world) };
}

/** Ingests further transfers while the server runs. @param round number from 1: each brings transactions of its own */
export async function ingestMore(world: World, round: number): Promise<void> {
  const file = join(world.folder, 'more.csv');
  writePowerLawCsv(file, { ...GRAPH, edges: 300, seed: 1_000_000 * round });
  const { code, err } = await world.run(['ingest', 'ndjson', file, '--chain', 'ETH', '--no-prices']);
  if (code !== 0) throw new Error(`ingest: ${err}`);
  writeFileSync(file, '');
}
