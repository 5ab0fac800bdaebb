/** Charged calls over a network that treats every request at random. */
import { Assay } from '../../sdk/typescript/src/index.ts';
import { EXCHANGE } from '../http/world.ts';
import { type NetworkFault, startFaultyProxy } from './faulty-proxy.ts';
import type { SdkWorld } from './world.ts';

/** A third of the requests go wrong. */
const MIX: readonly NetworkFault[] = [
  ...Array.from({ length: 13 }, () => 'none' as const),
  'delay',
  'refuse',
  'lose',
  'half',
  'hang',
  'bad-gateway',
  'too-many',
  'page',
];
const SEED = 20_261_123;
/** A call fails for good with a probability of a third to the power of this. */
const MAX_RETRIES = 20;
const PARALLEL = 50;

/** A generator of numbers that are the same in every run (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Makes `runs` charged calls, and returns how many credits they cost and how many of them failed. */
export async function chargesOfFaultyRuns(
  world: SdkWorld,
  runs: number,
): Promise<{ readonly charged: number; readonly failed: number }> {
  const { apiKey } = await world.account();
  const random = numbers(SEED);
  const proxy = await startFaultyProxy(world.url, () => MIX[Math.floor(random() * MIX.length)] ?? 'none');
  const direct = new Assay({ baseUrl: world.url, apiKey });
  const faulty = new Assay({ baseUrl: proxy.url, apiKey, timeout: 1_000, maxRetries: MAX_RETRIES });
  try {
    const before = (await direct.usage.get({ limit: 1 })).balance;
    let failed = 0;
    let left = runs;
    const worker = async (): Promise<void> => {
      while (left-- > 0)
        await faulty.kyt.check({ chain: 'ETH', address: EXCHANGE }).catch(() => {
          failed++;
        });
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL, runs) }, worker));
    return { charged: before - (await direct.usage.get({ limit: 1 })).balance, failed };
  } finally {
    await proxy.close();
  }
}
