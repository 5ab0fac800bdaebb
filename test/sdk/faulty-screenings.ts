/** Charged calls of the Python client through a proxy that cuts, delays and answers 5xx. */
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';
import type { World } from '../http/world.ts';
import { type Python, runPython } from '../setup/python.ts';
import { type NetworkFault, startFaultyProxy } from './faulty-proxy.ts';

/** Half of the requests go wrong. Those of `half`, `page`, `lose` and `hang` are charged before their response is lost. */
const FAULTS: readonly NetworkFault[] = [
  'none',
  'half',
  'none',
  'bad-gateway',
  'page',
  'none',
  'lose',
  'none',
  'refuse',
  'hang',
  'none',
  'none',
];

export interface FaultyOutcome {
  readonly balanceBefore: number;
  readonly balanceAfter: number;
  readonly retries: number;
  /** Calls whose response was stored for an earlier try. */
  readonly replayed: number;
}

/** Screens `count` addresses, and returns the balance of the account before and after. */
export async function faultyScreenings(python: Python, world: World, count: number): Promise<FaultyOutcome> {
  const accountId = `faulty-${count}`;
  const key = await world.key({ accountId, plan: 'SELF_HOSTED', rateLimits: { screening: 100_000 } });
  const balance = async (): Promise<number> => {
    const response = await fetch(`${world.url}/api/v1/usage`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return ((await response.json()) as { data: { balance: number } }).data.balance;
  };
  const proxy = await startFaultyProxy(world.url, (number) => FAULTS[number % FAULTS.length] ?? 'none');
  try {
    const balanceBefore = await balance();
    const out = await runPython(
      python,
      [join(projectRoot, 'sdk', 'python', 'tests', 'faults.py'), 'charges', String(count)],
      { ASSAY_BASE_URL: proxy.url, ASSAY_API_KEY: key },
    );
    const { retries, replayed } = JSON.parse(out) as { retries: number; replayed: number };
    return { balanceBefore, balanceAfter: await balance(), retries, replayed };
  } finally {
    await proxy.close();
  }
}
